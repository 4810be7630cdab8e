#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "memory/formats/sink.h"
#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// MiniMalloc's CSV: a header line, then one block a line. Ticks and bytes are whole numbers from 0
// to 2^63 − 1:
//
//   id,lower,upper,size[,alignment][,gaps][,op,layer,phase,category][,offset]
//
// Columns may come in any order; unknown ones are ignored. MiniMalloc's own reader knows these:
//   id         also called buffer or buffer_id
//   lower      first tick of the lifetime; also called start or begin
//   upper      tick after the lifetime; or column `end`, its last tick: then the upper ticks of
//              gaps are last ticks, too
//   alignment  what the block's offset must be a multiple of; empty: 1. The size stays as it is
//   gaps       ticks in which the block does not need its bytes: LOWER-UPPER, separated by blanks.
//              LOWER-UPPER@A:B says that bytes [A, B) of the block stay in use: such a gap is
//              checked and dropped, so the block counts as in use, which is always sound
//   offset     in a trace: the byte offset that the block must have; empty or -1: free
// Fields may be quoted (RFC 4180). A byte order mark, CRLF, blank lines and a missing last newline
// are accepted. `source` names the text in errors. Readers take O(text) and throw TraceError naming
// source, line and field.

// `head` is text already read from the stream.
Trace read_trace_csv(std::istream& in, std::string_view source, std::string head = {});

// A plan file's claims about its plan: nine more columns with the names of these members, filled in
// on one line (the writer takes the first block's) and empty on all others. fault_of_certificate()
// checks them. A plan without blocks has no line that could carry a certificate.
struct PlanCertificate {
  std::string planner = {};
  std::uint64_t peak = 0, lower_bound = 0, proved_bound = 0;  // bytes
  double gap = 0;                  // (peak − lower bound) / lower bound
  bool proved_optimal = false;     // "true" or "false"
  std::uint64_t fixed_blocks = 0;  // offsets that the planned trace fixed; the proof assumes them
  std::uint64_t seed = 0;
  double seconds = 0;
  bool operator==(const PlanCertificate&) const = default;
};

// A trace with an offset for each block. Column `offset` is the plan's; the trace fixes nothing.
// Peak and lower bound of the plan are computed from the file, never taken from the
// certificate. Its proved bound is the certificate's if that lies between lower bound and peak,
// otherwise the lower bound. Without a certificate its planner is "csv".
struct CsvPlan {
  Trace trace;
  Plan plan;
  std::optional<PlanCertificate> certificate;  // if the header has all of its columns
};
CsvPlan read_plan_csv(std::istream& in, std::string_view source);

// Returns the offsets of `csv` in the order of `trace`, blocks matched by id, with peak, lower
// bound and proved bound of `trace` under `alignment`, which counts if the trace states none. Gaps
// come from `trace`; those of `csv` are ignored. Throws PlanMismatch if a block is missing on
// either side or differs in lifetime or size, which the plan's file may have rounded.
Plan match_plan(const CsvPlan& csv, const Trace& trace, std::uint64_t alignment);

// Counts the blocks with a fixed offset.
std::uint64_t fixed_block_count(const Trace& trace);

// Names, as a sentence, the first figure of the certificate that is false for `plan`, which
// match_plan() or read_plan_csv() computed for `trace`; empty if all hold. A proved bound above the
// lower bound is only required to be possible: checking it would take the search that proved it.
std::string fault_of_certificate(const PlanCertificate& certificate, const Trace& trace,
                                 const Plan& plan);

// Writes gaps, tags, alignments and fixed offsets (-1: free) if the trace has some, so that reading
// returns an equal trace. If it states no alignments and `alignment` is above 1, writes that for
// each block, and sizes rounded up to it: then any reader plans what Skyline plans.
void write_trace_csv(const Sink& out, const Trace& trace, std::uint64_t alignment = 1);
void write_trace_csv(std::ostream& out, const Trace& trace, std::uint64_t alignment = 1);
// Writes the trace with the plan's offsets and, after them, its certificate, which readers of
// MiniMalloc's columns ignore. Throws PlanMismatch if the plan does not have one offset a block.
void write_plan_csv(std::ostream& out, const Trace& trace, const Plan& plan);

}  // namespace skyline
