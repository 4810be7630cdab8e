#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// MiniMalloc's CSV: a header line, then one block a line, ticks and bytes as whole numbers from 0
// to 2^63 − 1:
//
//   id,lower,upper,size[,alignment][,gaps][,op,layer,phase,category][,offset]
//
// Columns may come in any order; unknown ones are ignored. What MiniMalloc's own reader knows:
//   id         also called buffer or buffer_id
//   lower      also called start or begin: the first tick of the lifetime
//   upper      the tick behind the lifetime; or instead `end`, its last tick: then the gaps' upper
//              ticks are last ticks, too
//   gaps       ticks in which the block does not need its bytes, as LOWER-UPPER, separated by
//              blanks. LOWER-UPPER@A:B says that bytes [A, B) of the block stay in use then: such a
//              gap is checked and left out, the block counts as in use, which is always sound
//   offset     of a trace: bytes at which the block has to lie; empty or -1 where it is free
// Fields may be quoted as RFC 4180 says; a byte order mark, CRLF, blank lines and a missing last
// newline are accepted. `source` names the text in errors. All readers throw TraceError naming
// source, line and field. O(text).

struct CsvTrace {
  Trace trace;
  std::uint64_t alignment = 1;  // the largest in column `alignment`; 1 without that column
};
CsvTrace read_trace_csv(std::istream& in, std::string_view source);

// What a plan file says of its plan, beside the offsets: nine further columns, named as these
// members, filled in on the first block's line and empty on all others. A claim, until it is
// checked: see fault_of_certificate. A plan without blocks has no line that could carry one.
struct PlanCertificate {
  std::string planner = {};
  std::uint64_t peak = 0, lower_bound = 0, proved_bound = 0;  // bytes
  double gap = 0;                  // (peak − lower bound) / lower bound
  bool proved_optimal = false;     // "true" or "false"
  std::uint64_t fixed_blocks = 0;  // offsets that the planned trace fixed: part of what is proved
  std::uint64_t seed = 0;
  double seconds = 0;
  bool operator==(const PlanCertificate&) const = default;
};

// A trace with the offset of each of its blocks: column `offset` is the plan's, nothing is fixed.
// The plan's alignment, peak and lower bound are computed from the file, never taken from its
// certificate; its proved bound is the certificate's where that lies between the two, else the
// lower bound. Without a certificate its planner is "csv".
struct CsvPlan {
  Trace trace;
  Plan plan;
  std::optional<PlanCertificate> certificate;  // when the header has all of its columns
};
CsvPlan read_plan_csv(std::istream& in, std::string_view source);

// The offsets of `csv` in the order of `trace`, blocks matched by id; peak, lower bound and proved
// bound are those of `trace` under `alignment`. Throws PlanMismatch when a block is missing from
// either side, or has another lifetime or size. Gaps are the trace's business: those of `csv` are
// not looked at.
Plan match_plan(const CsvPlan& csv, const Trace& trace, std::uint64_t alignment);

// How many blocks have a fixed offset.
std::uint64_t fixed_block_count(const Trace& trace);

// The first figure of the certificate that is not true of `plan`, which match_plan or read_plan_csv
// computed for `trace`, as a sentence; empty when none is wrong. A proved bound above the lower
// bound cannot be checked without the search that proved it: it is only required to be possible.
std::string fault_of_certificate(const PlanCertificate& certificate, const Trace& trace,
                                 const Plan& plan);

// Column `alignment` is written when it is above 1, gaps, tags and fixed offsets (-1 for a block
// without) when the trace has some, so that a trace read back equals the one written. Output errors
// are left in the stream's state.
void write_trace_csv(std::ostream& out, const Trace& trace, std::uint64_t alignment = 1);
// The same with the plan's offsets and, behind them, its certificate; readers that know only
// MiniMalloc's columns skip that. Throws PlanMismatch when the plan does not have one offset for
// each block.
void write_plan_csv(std::ostream& out, const Trace& trace, const Plan& plan);

}  // namespace skyline
