#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "memory/formats/csv/csv.h"

namespace skyline {

// The columns that a trace or a plan may have; names and meanings in trace_csv.h.
enum class TraceColumn : std::size_t {
  kId,
  kLower,
  kUpper,
  kSize,
  kAlignment,
  kGaps,
  kOp,
  kLayer,
  kPhase,
  kCategory,
  kOffset,
  kPlanner,  // from here on the certificate
  kPeak,
  kLowerBound,
  kProvedBound,
  kGap,
  kProvedOptimal,
  kFixedBlocks,
  kSeed,
  kSeconds,
  kCount,
};
inline constexpr auto kTraceColumns = static_cast<std::size_t>(TraceColumn::kCount);
inline constexpr TraceColumn kFirstOfCertificate = TraceColumn::kPlanner;

// The name under which a column is written.
std::string_view column_name(TraceColumn column);

// The text without blanks and tabs around it.
std::string_view trimmed_cell(std::string_view text);

// A field as errors show it, `got "…"`: short, on one line.
std::string shown_cell(std::string_view field);

// Where the columns are in the records of one text, and what its header calls them.
class TraceColumns {
 public:
  // Takes the header from the first record. Throws TraceError, naming the line, when there is none,
  // when it names a column twice, or one of id, lower, upper and size not at all.
  explicit TraceColumns(CsvRecords& records);

  bool has(TraceColumn column) const { return position_[at(column)] != kAbsent; }
  bool has_certificate() const;  // all of its columns
  bool upper_is_inclusive() const { return name(TraceColumn::kUpper) == "end"; }
  std::size_t count() const { return header_.size(); }
  // As the header says it, "start" for kLower; empty for a column that is not there.
  std::string_view name(TraceColumn column) const;
  // The field of the current record; empty for a column that is not there.
  std::string_view field(const CsvRecords& records, TraceColumn column) const {
    return has(column) ? records.fields()[position_[at(column)]] : std::string_view{};
  }
  // Throws TraceError when the header does not name the column.
  void require(const CsvRecords& records, TraceColumn column) const;

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  static std::size_t at(TraceColumn column) { return static_cast<std::size_t>(column); }
  void note(const CsvRecords& records, std::size_t position);

  std::array<std::size_t, kTraceColumns> position_{};
  std::vector<std::string> header_;
};

}  // namespace skyline
