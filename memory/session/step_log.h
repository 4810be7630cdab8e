#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// Request k of a step is the k-th since it began, without interrupted parts.
using RequestIndex = std::uint32_t;
inline constexpr RequestIndex kStepEnd = std::numeric_limits<RequestIndex>::max();
inline constexpr std::uint32_t kNeverReleased = std::numeric_limits<std::uint32_t>::max();

// How a step deviated from its plan.
enum class Deviation : std::uint8_t {
  kBeyondPlan,       // more requests than planned
  kBetween,          // no remaining request of the plan has its tag
  kLarger,           // more bytes than planned
  kOverdue,          // a block was alive after its planned release
  kOverlapsOverdue,  // an overdue block held the planned bytes
  kOutlivesStep,     // a block was alive when the next step began
};
std::string_view deviation_name(Deviation deviation);  // "overlaps an overdue block"

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

}  // namespace skyline
