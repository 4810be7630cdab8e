#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// Request k of a step is the k-th since the step began, interrupted parts left out.
using RequestIndex = std::uint32_t;
inline constexpr RequestIndex kStepEnd = std::numeric_limits<RequestIndex>::max();
inline constexpr std::uint32_t kNeverReleased = std::numeric_limits<std::uint32_t>::max();

// In which way a step left its plan.
enum class Deviation : std::uint8_t {
  kBeyondPlan,       // more requests than planned
  kBetween,          // none of the planned requests that are left bears its tag
  kLarger,           // more bytes than planned
  kOverdue,          // a block alive although the plan let it die
  kOverlapsOverdue,  // the planned bytes of a request were held by an overdue block
  kOutlivesStep,     // a block alive when the next step began
};
std::string_view deviation_name(Deviation deviation);  // "overlaps an overdue block"

// What one request was seen to need. A recorded step consists of kBeyondPlan alone.
struct Observation {
  // Of the plan's requests, but for kBeyondPlan and kBetween: then the place among these and those.
  RequestIndex request = 0;
  Deviation kind = Deviation::kBeyondPlan;
  std::uint64_t bytes = 0;  // 0: not looked at
  // Places among the plan's requests and those beyond and between them.
  RequestIndex needed_until = kStepEnd;
  RequestIndex needed_past = 0;  // it was alive when this request was made
  std::uint32_t release_order = kNeverReleased;
  bool outlives_step = false;
  bool refused = false;  // by the fallback's limit
  BlockTag tag = {};     // empty when not looked at
};

// What a step did besides its plan; all that it did, when it had none.
// Only note() allocates, so that releases stay noexcept.
class StepLog {
 public:
  void clear() noexcept;

  // The place of the observation, for note_release.
  std::size_t note(Observation observation);
  // The request noted last was refused. Kept when a plan could serve it, else dropped.
  void refuse_last(bool keep) noexcept;

  // The block of an observation was freed after `requests_made` requests, or after the step's end
  // (kStepEnd).
  void note_release(std::size_t observation, RequestIndex requests_made) noexcept;
  void note_outlives(std::size_t observation) noexcept;
  void note_refusal() noexcept { ++refusals_; }
  void note_requests(RequestIndex requests_made) noexcept { requests_ = requests_made; }

  // The step was cut short after `requests_made` requests: what is alive tells nothing of how long
  // it is needed.
  void cut(RequestIndex requests_made) noexcept;

  bool was_cut() const noexcept { return cut_; }
  bool has(Deviation kind) const noexcept;
  bool empty() const noexcept { return observations_.empty(); }
  RequestIndex requests() const noexcept { return requests_; }   // that the step made
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
