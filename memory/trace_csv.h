#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// MiniMalloc's CSV: a header line, then one block a line, lifetimes half-open, ticks and bytes as
// whole numbers from 0 to 2^63 − 1:
//
//   id,lower,upper,size[,alignment][,op,layer,phase,category][,offset]
//
// Columns may come in any order; unknown ones are ignored. Fields may be quoted as RFC 4180 says; a
// byte order mark, CRLF, blank lines and a missing last newline are accepted. `source` names the
// text in errors. All readers throw TraceError naming source, line and field. O(text).

struct CsvTrace {
  Trace trace;
  std::uint64_t alignment = 1;  // the largest in column `alignment`; 1 without that column
};
CsvTrace read_trace_csv(std::istream& in, std::string_view source);

// A trace with the offset of each of its blocks. The plan's alignment, peak and lower bound are
// computed from the file; its planner is "csv".
struct CsvPlan {
  Trace trace;
  Plan plan;
};
CsvPlan read_plan_csv(std::istream& in, std::string_view source);

// The offsets of `csv` in the order of `trace`, blocks matched by id; peak and lower bound are
// those of `trace` under `alignment`. Throws PlanMismatch when a block is missing from either side,
// or has another lifetime or size.
Plan match_plan(const CsvPlan& csv, const Trace& trace, std::uint64_t alignment);

// Column `alignment` is written when it is above 1, and the tag columns when the trace has tags, so
// that a trace read back equals the one written. Output errors are left in the stream's state.
void write_trace_csv(std::ostream& out, const Trace& trace, std::uint64_t alignment = 1);
// Throws PlanMismatch when the plan does not have one offset for each block.
void write_plan_csv(std::ostream& out, const Trace& trace, const Plan& plan);

}  // namespace skyline
