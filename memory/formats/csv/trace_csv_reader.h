// Reads what trace_csv.h describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/formats/csv/csv_reader.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/trace.h"

namespace skyline {

// Reads the gaps in one cell, `LOWER-UPPER` or `LOWER-UPPER@A:B` separated by blanks, for block
// number `index`. If `inclusive`, upper ticks are last ticks. Appends the gaps without a window to
// `out`, ordered by tick. Returns the first fault as a sentence, empty if there is none: a gap must
// lie within the block's lifetime, its window within the block's bytes, and gaps must not overlap.
std::string read_gaps(std::string_view cell, std::size_t index, const TraceBlock& block,
                      bool inclusive, std::vector<TraceGap>& out);

// The columns of a trace or a plan; trace_csv.h says what they mean.
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
  kPlanner,  // the certificate begins here
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

// Finds ids that occur twice: a hash table of positions in the list of ids, at most half full.
// Reading a million lines takes a quarter of the time that a set of strings needs.
class SeenIds {
 public:
  // Adds the last of `ids`; the others were added before, in this order. Returns false if the id is
  // among them.
  bool insert_last(const std::vector<std::string>& ids);

 private:
  // The upper half of the hash, then the position + 1; 0: empty.
  using Slot = std::uint64_t;
  bool insert(const std::vector<std::string>& ids, std::size_t position);
  void grow(const std::vector<std::string>& ids);

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

// Reads a trace or a plan in the format of trace_csv.h, record by record. Throws TraceError naming
// source, line and field.
class TraceReader {
 public:
  // Reads the header.
  TraceReader(std::istream& in, std::string_view source, std::string head = {});

  // Call one of these, once.
  void read_trace();  // column `offset` goes to trace.fixed_offsets
  void read_plan();   // column `offset` is required and goes to `offsets`

  Trace trace;
  std::vector<std::uint64_t> offsets;
  std::optional<PlanCertificate> certificate;

 private:
  bool has(TraceColumn column) const { return columns_.has(static_cast<std::size_t>(column)); }
  std::string_view field(TraceColumn column) const {
    return columns_.field(static_cast<std::size_t>(column));
  }
  std::uint64_t number(TraceColumn column, std::uint64_t least = 0,
                       std::uint64_t most = CsvColumns::kMostNumber) const {
    return columns_.number(static_cast<std::size_t>(column), least, most);
  }
  [[noreturn]] void fail(TraceColumn column, std::string problem) const {
    columns_.fail(static_cast<std::size_t>(column), std::move(problem));
  }

  // The field, which must be UTF-8.
  std::string_view text(TraceColumn column) const;
  bool next();  // reads all columns of the next record but its offset and certificate
  void drop_alignments_of_one();
  void read_id();
  void read_block();
  void read_gaps_of_block();
  void read_tag();
  void read_fixed_offset();
  template <class Enum>
  Enum named(TraceColumn column, int count, std::string_view (*name)(Enum), Enum unset) const;

  bool header_has_certificate() const;
  bool record_has_certificate() const;
  void read_certificate();
  double real(TraceColumn column) const;
  bool truth(TraceColumn column) const;

  CsvColumns columns_;
  bool inclusive_, tagged_;
  SeenIds seen_;
};

}  // namespace skyline
