#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/formats/csv/csv_stream.h"

namespace skyline {

// A CsvStream whose first record names its columns, which may come in any order. Columns are called
// by their positions in `names`.
class CsvColumns {
 public:
  // Reads the header. Of the columns of interest, `names`, the first `required` have to be there;
  // others are ignored. `expected` is what an error says about the header. `names` outlive the
  // object. Throws TraceError for a header without them or with one of them twice.
  CsvColumns(CsvStream records, std::span<const std::string_view> names, std::size_t required,
             std::string_view expected);

  // Moves on to the next record. Throws TraceError for one of another width than the header's.
  bool next();

  bool has(std::size_t column) const { return position_[column] != kAbsent; }
  // Empty when the column is absent; valid until next().
  std::string_view field(std::size_t column) const {
    return has(column) ? records_.fields()[position_[column]] : std::string_view{};
  }
  // A whole number from 0 to 2^63 − 1, else throws TraceError.
  std::uint64_t bytes(std::size_t column) const;

  [[noreturn]] void fail(std::size_t column, std::string problem) const {
    records_.fail(names_[column], std::move(problem));
  }
  TraceErrorFacts place() const { return {.source = records_.source(), .line = records_.line()}; }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  CsvStream records_;
  std::span<const std::string_view> names_;
  std::vector<std::size_t> position_;
  std::size_t width_ = 0;
};

}  // namespace skyline
