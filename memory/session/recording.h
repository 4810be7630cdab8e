// What steps did: the log of one, and the requests of all that one plan serves.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "memory/session/session_event.h"
#include "memory/trace.h"

namespace skyline {

inline constexpr std::uint32_t kNeverReleased = std::numeric_limits<std::uint32_t>::max();

// One request as it was observed. A recorded step has kBeyondPlan only.
struct Observation {
  // Index in the plan; for kBeyondPlan and kBetween, among the plan's requests and these.
  RequestIndex request = 0;
  Deviation kind = Deviation::kBeyondPlan;
  std::uint64_t bytes = 0;  // 0: unknown
  RequestIndex needed_until = kStepEnd;
  RequestIndex last_seen_alive_at = 0;  // index of the latest request made while it was alive
  std::uint32_t release_order = kNeverReleased;
  bool outlives_step = false;
  bool refused = false;  // by the fallback's limit
  BlockTag tag = {};     // empty if unknown

  bool operator==(const Observation&) const = default;
};

// The requests of a step outside of its plan, or all of them without a plan. Only note() allocates,
// so that releases stay noexcept.
class StepLog {
 public:
  void clear() noexcept;

  // Returns the index of the observation, for note_release().
  std::size_t note(Observation observation);
  // The request noted last was refused. `keep` it when a plan could serve it.
  void refuse_last(bool keep) noexcept;

  // The block of an observation was released after `requests_made` requests, or after the step
  // (kStepEnd).
  void note_release(std::size_t observation, RequestIndex requests_made) noexcept;
  void note_outlives(std::size_t observation) noexcept;
  void note_refusal() noexcept { ++refusals_; }
  void note_requests(RequestIndex requests_made) noexcept { requests_ = requests_made; }

  // The step was cut after `requests_made` requests: live blocks do not show how long they are
  // needed.
  void cut(RequestIndex requests_made) noexcept;

  bool was_cut() const noexcept { return cut_; }
  bool has(Deviation kind) const noexcept;
  bool empty() const noexcept { return observations_.empty(); }
  RequestIndex requests() const noexcept { return requests_; }   // made by the step
  std::uint64_t refusals() const noexcept { return refusals_; }  // OutOfMemory thrown in the step
  const std::vector<Observation>& observations() const noexcept { return observations_; }

 private:
  std::vector<Observation> observations_;
  std::uint64_t refusals_ = 0;
  std::uint32_t releases_ = 0;
  RequestIndex requests_ = 0;
  bool cut_ = false;
};

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
