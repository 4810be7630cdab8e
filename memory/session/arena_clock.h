#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "memory/session/plan.h"

namespace skyline {

// The hot path of an arena: serves the requests of a step in the order of its plan, and knows in
// O(1) which of the plan's blocks are alive.
//
// Time is the number of the plan's releases that have passed, and a block's rank is its place among
// them. Request k may reuse bytes from time slot[k].released_before on. Its cookie is epoch | rank,
// where epochs are multiples of 2^32, one a step. A hot step releases its blocks in the planned
// order: each released cookie equals the expected one, and counting them is the clock. A release
// out of order is marked by its rank, and the clock passes it later. A block that is alive when the
// clock must pass its rank is overdue: the arena may no longer count on its bytes.
class ArenaClock {
 public:
  static constexpr std::uint64_t kEpoch = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kEpochMask = ~(kEpoch - 1);

  // Returns the slot of the plan's next request when it serves `bytes` now; null: ask the slow
  // path, which finds out why not.
  const StepSlot* serve(std::size_t bytes) noexcept {
    if (next_ >= hot_end_) [[unlikely]]
      return nullptr;
    const StepSlot& slot = slots_[next_];
    if (bytes >= slot.bytes_limit || now() < slot.released_before) [[unlikely]]
      return nullptr;
    ++next_;
    return &slot;
  }
  // False for a block that is not the next planned release.
  bool release(std::uint64_t cookie) noexcept {
    if (cookie != expected_) [[unlikely]]
      return false;
    ++expected_;
    return true;
  }

  std::uint32_t now() const noexcept { return static_cast<std::uint32_t>(expected_); }
  std::uint64_t epoch() const noexcept { return expected_ & kEpochMask; }
  std::uint64_t cookie(const StepSlot& slot) const noexcept { return epoch() | slot.rank; }
  // The number of the plan's requests that were made or left out.
  RequestIndex next() const noexcept { return next_; }
  std::uint32_t requests() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t ranks() const noexcept {
    return layout_ ? static_cast<std::uint32_t>(layout_->request_of_rank.size()) : 0;
  }
  const StepSlot& slot(RequestIndex request) const noexcept { return slots_[request]; }
  const StepLayout* layout() const noexcept { return layout_.get(); }
  bool alive(RequestIndex request) const noexcept {
    const StepSlot& slot = slots_[request];
    return slot.planned() && slot.rank >= now() && released_in_[slot.rank] != epoch();
  }
  // Releases of this step that came in the planned order.
  std::uint64_t in_order_releases() const noexcept { return now() - skipped_; }

  // Between steps; null: no plan.
  void install(std::shared_ptr<const StepLayout> layout) {
    if (layout && released_in_.size() < layout->request_of_rank.size()) {
      released_in_.resize(layout->request_of_rank.size());
    }
    layout_ = std::move(layout);
    slots_ = layout_ ? std::span(layout_->slots) : std::span<const StepSlot>();
  }
  // A new epoch makes every mark and every cookie of the step stale at once.
  void end_step() noexcept {
    next_ = skipped_ = 0;
    expected_ = epoch() + kEpoch;
  }
  // While closed, serve() refuses everything.
  void open(bool open) noexcept { hot_end_ = open ? requests() : 0; }

  // For the slow path: the next request has been served, elsewhere perhaps.
  void advance() noexcept { ++next_; }
  // The block of this rank was released out of order, or its bytes stay unused.
  void mark_released(std::uint32_t rank) noexcept {
    released_in_[rank] = epoch();
    for (; now() < ranks() && released_in_[now()] == epoch(); ++skipped_) ++expected_;
  }
  // Moves the clock on to `time`. Calls overdue(request) for each block alive that it passes.
  template <typename Overdue>
  void advance_to(std::uint32_t time, Overdue overdue) {
    for (; now() < time; ++expected_, ++skipped_) {
      if (released_in_[now()] != epoch()) overdue(layout_->request_of_rank[now()]);
    }
  }

 private:
  std::span<const StepSlot> slots_;
  RequestIndex next_ = 0;
  RequestIndex hot_end_ = 0;
  std::uint64_t expected_ = kEpoch;         // cookie of the next planned release
  std::uint32_t skipped_ = 0;               // moves of the clock that were no release in order
  std::vector<std::uint64_t> released_in_;  // rank → epoch in which it was marked
  std::shared_ptr<const StepLayout> layout_;
};

}  // namespace skyline
