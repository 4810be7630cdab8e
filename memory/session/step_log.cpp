#include "memory/session/step_log.h"

#include <algorithm>
#include <utility>

namespace skyline {

std::string_view deviation_name(Deviation deviation) {
  switch (deviation) {
    case Deviation::kBeyondPlan:
      return "beyond the plan";
    case Deviation::kBetween:
      return "between planned requests";
    case Deviation::kLarger:
      return "larger than planned";
    case Deviation::kOverdue:
      return "alive longer than planned";
    case Deviation::kOverlapsOverdue:
      return "overlaps an overdue block";
    case Deviation::kOutlivesStep:
      return "alive in the next step";
  }
  return "unknown";
}

void StepLog::clear() noexcept {
  observations_.clear();
  refusals_ = 0;
  releases_ = 0;
  requests_ = 0;
  cut_ = false;
}

std::size_t StepLog::note(Observation observation) {
  observations_.push_back(std::move(observation));
  return observations_.size() - 1;
}

void StepLog::refuse_last(bool keep) noexcept {
  if (!keep) return observations_.pop_back();
  Observation& seen = observations_.back();
  seen.refused = true;
  seen.needed_until = seen.request + 1;
}

void StepLog::note_release(std::size_t observation, RequestIndex requests_made) noexcept {
  Observation& seen = observations_[observation];
  // cut() has already set needed_until.
  if (!cut_) seen.needed_until = std::max(requests_made, seen.last_seen_alive_at + 1);
  seen.release_order = releases_++;
}

void StepLog::note_outlives(std::size_t observation) noexcept {
  if (!cut_) observations_[observation].outlives_step = true;
}

void StepLog::cut(RequestIndex requests_made) noexcept {
  cut_ = true;
  for (Observation& seen : observations_) {
    if (seen.needed_until != kStepEnd) continue;
    seen.needed_until = std::max(requests_made, seen.last_seen_alive_at + 1);
  }
}

bool StepLog::has(Deviation kind) const noexcept {
  return std::any_of(observations_.begin(), observations_.end(),
                     [kind](const Observation& seen) { return seen.kind == kind; });
}

}  // namespace skyline
