#include "memory/session/arena_clock.h"

#include <utility>

namespace skyline {

void ArenaClock::install(std::shared_ptr<const StepLayout> layout) {
  if (layout && released_in_.size() < layout->request_of_rank.size()) {
    released_in_.resize(layout->request_of_rank.size());
  }
  layout_ = std::move(layout);
  slots_ = layout_ ? std::span(layout_->slots) : std::span<const StepSlot>();
}

// A new epoch makes every mark and every cookie of the step stale at once.
void ArenaClock::end_step() noexcept {
  next_ = skipped_ = 0;
  expected_ = epoch() + kEpoch;
}

std::uint32_t ArenaClock::ranks() const noexcept {
  return layout_ ? static_cast<std::uint32_t>(layout_->request_of_rank.size()) : 0;
}

bool ArenaClock::alive(RequestIndex request) const noexcept {
  const StepSlot& slot = slots_[request];
  return slot.planned() && slot.rank >= now() && released_in_[slot.rank] != epoch();
}

void ArenaClock::mark_released(std::uint32_t rank) noexcept {
  released_in_[rank] = epoch();
  for (; now() < ranks() && released_in_[now()] == epoch(); ++skipped_) ++expected_;
}

}  // namespace skyline
