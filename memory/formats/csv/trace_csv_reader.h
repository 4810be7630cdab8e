#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/formats/csv/csv.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/csv/trace_csv_columns.h"
#include "memory/formats/csv/trace_csv_ids.h"
#include "memory/trace.h"

namespace skyline {

// Reads the text of a trace or a plan, record by record: the format of trace_csv.h. Throws
// TraceError naming source, line and field.
class TraceReader {
 public:
  // Reads the header. Text and source must outlive the reader.
  TraceReader(std::string_view text, std::string_view source);

  // Either of the two, once.
  void read_trace();  // column `offset` goes to trace.fixed_offsets
  void read_plan();   // column `offset` is required and goes to `offsets`

  Trace trace;
  std::uint64_t alignment = 1;
  std::vector<std::uint64_t> offsets;
  std::optional<PlanCertificate> certificate;

 private:
  // An empty field: the problem is about the whole line.
  [[noreturn]] void fail(std::string_view field, std::string problem) const;
  [[noreturn]] void fail(TraceColumn column, std::string problem) const {
    fail(columns_.name(column), std::move(problem));
  }
  std::string_view field(TraceColumn column) const { return columns_.field(records_, column); }

  bool next();  // the next record's columns but its offset and certificate
  std::uint64_t number(TraceColumn column, std::uint64_t least, std::uint64_t most) const;
  std::uint64_t number(TraceColumn column, std::uint64_t least = 0) const;
  void read_id();
  void read_block();
  void read_gaps_of_block();
  void read_tag();
  void read_fixed_offset();
  template <class Enum>
  Enum named(TraceColumn column, int count, std::string_view (*name)(Enum), Enum unset) const;

  bool carries_certificate() const;  // the current record
  void read_certificate();
  double real(TraceColumn column) const;
  bool truth(TraceColumn column) const;

  CsvRecords records_;
  TraceColumns columns_;
  bool inclusive_, tagged_;
  SeenIds seen_;
};

}  // namespace skyline
