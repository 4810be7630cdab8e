#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/errors.h"
#include "memory/formats/csv/csv_reader.h"

namespace skyline {

// The columns that a format's header line may name, in any order. A column's number is its position
// in `names`; unknown columns are ignored.
struct CsvFormat {
  struct Alias {
    std::string_view name;
    std::size_t column;
  };
  std::span<const std::string_view> names;
  std::size_t required;       // the first so many names must be there
  std::string_view expected;  // how an error describes the header: "expected …"
  std::span<const Alias> aliases = {};
};

// Reads records by column. `names` and `aliases` of the format must outlive it.
class CsvColumns {
 public:
  static constexpr std::uint64_t kMostNumber = std::numeric_limits<std::int64_t>::max();

  // Reads the header. Throws TraceError if a required column is missing or one is named twice.
  CsvColumns(CsvReader records, const CsvFormat& format);

  // Moves to the next record; returns false at the end. Throws TraceError if it has more or fewer
  // fields than the header.
  bool next();

  bool has(std::size_t column) const { return position_[column] != kAbsent; }
  // The column's name in the header, an alias perhaps; empty if the column is absent.
  std::string_view name(std::size_t column) const {
    return has(column) ? std::string_view(header_[position_[column]]) : std::string_view{};
  }
  // Valid until next(); empty if the column is absent.
  std::string_view field(std::size_t column) const {
    return has(column) ? records_.fields()[position_[column]] : std::string_view{};
  }
  // The field as a whole number in [least, most]; throws TraceError for anything else.
  std::uint64_t number(std::size_t column, std::uint64_t least = 0,
                       std::uint64_t most = kMostNumber) const;

  [[noreturn]] void fail(std::size_t column, std::string problem) const {
    records_.fail(name(column), std::move(problem));
  }
  // Throws TraceError about the whole record.
  [[noreturn]] void fail_record(std::string problem) const {
    records_.fail("", std::move(problem));
  }
  TraceErrorFacts place() const { return {.source = records_.source(), .line = records_.line()}; }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  void note(std::size_t column, std::size_t position);

  CsvReader records_;
  std::vector<std::string> header_;
  std::vector<std::size_t> position_;  // of each column in a record
};

}  // namespace skyline
