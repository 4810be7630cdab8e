#pragma once

#include <cstdint>
#include <vector>

#include "memory/session/step_log.h"
#include "memory/trace.h"

namespace skyline {

// Size and lifetime of request j of a step. Lifetimes count requests instead of ticks, so that
// several steps can be merged.
struct StepRequest {
  std::uint64_t bytes = 0;
  // Index of the first request that may reuse the bytes: the requests made before the release.
  RequestIndex needed_until = kStepEnd;
  // Place among the step's releases; orders requests with equal needed_until.
  std::uint32_t release_order = kNeverReleased;
  // The block was alive when the next step began. It is no step memory: the pool serves it.
  bool outlives_step = false;
  BlockTag tag = {};

  bool operator==(const StepRequest&) const = default;
};

// How requests of a step find their place in the plan.
enum class Matching : std::uint8_t {
  kByPosition,  // request k is the plan's k-th: programs that repeat the same requests
  kByTag,       // the plan's next request with its tag: loops of varying length
};

// The requests of all steps that one plan serves, each with its largest size and lifetime.
struct StepRecording {
  std::vector<StepRequest> requests = {};
  Matching matching = Matching::kByPosition;
};

// The trace of a recording for the planners. Its ticks are rebuilt: request j, then the releases
// with needed_until == j + 1. Blocks needed to the end have the number of ticks as their upper
// bound.
struct CanonicalStep {
  Trace trace = {};                            // the planned requests, in order, with tags
  std::vector<RequestIndex> request_of = {};   // block → request
  std::vector<std::uint32_t> by_release = {};  // blocks in the order of their planned releases
  std::size_t requests = 0;                    // planned or not
};
CanonicalStep canonical_step(const std::vector<StepRequest>& requests);

// The inverse, for a trace from anywhere (MiniMalloc's CSV, a dry run). Throws TraceError when a
// lifetime is empty or the blocks are not in the order of their requests.
std::vector<StepRequest> requests_of(const Trace& trace);

// Translates needed_until to other places: request k moves to places[k]. It may lie behind the last
// request of a step that was cut.
RequestIndex moved_until(RequestIndex needed_until, const std::vector<RequestIndex>& places);

// Returns the maximum of the known requests and of what a step did under their plan: of bytes,
// lifetimes and number of requests. Requests between the known ones get places of their own.
std::vector<StepRequest> merged(std::vector<StepRequest> known, const StepLog& log);

// True when one plan serves both: only tags and the order of releases may differ.
bool same_requests(const std::vector<StepRequest>& a, const std::vector<StepRequest>& b);

}  // namespace skyline
