#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "memory/session/step_log.h"
#include "memory/trace.h"

namespace skyline {

// What request j of a step asks for, in the domain of requests instead of ticks, so that the
// observations of several steps can be merged.
struct StepRequest {
  std::uint64_t bytes = 0;
  // The first request that may reuse the bytes: the number of requests made when they were freed.
  RequestIndex needed_until = kStepEnd;
  // The place among the step's releases, which decides between requests with equal needed_until.
  std::uint32_t release_order = kNeverReleased;
  // Its block was still alive when the next step began: not step memory, so it is left unplanned
  // and the pool serves it.
  bool outlives_step = false;
  BlockTag tag = {};

  bool operator==(const StepRequest&) const = default;
};

// How the requests of a step find their places among those of the plan.
enum class Matching : std::uint8_t {
  kByPosition,  // request k is the plan's k-th: programs that repeat the same requests
  kByTag,       // the next of the plan's that bears its tag: loops of any length
};

// What a plan is made for.
struct StepDemand {
  std::vector<StepRequest> requests = {};
  Matching matching = Matching::kByPosition;
};

// The trace of a step, its ticks rebuilt: request j, then the releases with needed_until == j + 1;
// blocks needed to the end get the number of ticks as their upper bound.
struct CanonicalStep {
  Trace trace = {};                            // the planned requests, in order, with tags
  std::vector<RequestIndex> request_of = {};   // block → request
  std::vector<std::uint32_t> by_release = {};  // blocks in the order of their planned releases
  std::size_t requests = 0;                    // planned or not
};
CanonicalStep canonical_step(const std::vector<StepRequest>& requests);

// The inverse, of a trace from anywhere (MiniMalloc's CSV, a dry run).
// Throws TraceError when lifetimes are empty or the blocks are not in the order of their requests.
std::vector<StepRequest> requests_of(const Trace& trace);

// What needed_until is among other places, where request k is at places[k]. It may lie behind the
// last request, where a step was cut.
RequestIndex moved_until(RequestIndex needed_until, const std::vector<RequestIndex>& places);

// The maximum of what was known and what a step showed under the plan for it: of bytes, lifetimes
// and number of requests. Requests between the known ones get places of their own there.
std::vector<StepRequest> merged(std::vector<StepRequest> known, const StepLog& log);

// Equal but for tags and the order of releases: the same plan serves both.
bool same_demand(const std::vector<StepRequest>& a, const std::vector<StepRequest>& b);

}  // namespace skyline
