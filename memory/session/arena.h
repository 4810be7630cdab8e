#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "memory/alignment.h"
#include "memory/allocator.h"
#include "memory/device/device.h"
#include "memory/session/arena_clock.h"
#include "memory/session/arena_fallback.h"
#include "memory/session/recording.h"

namespace skyline {

// Bytes of live blocks, wherever they are served. Separate sums of both directions keep the
// additions of a request independent of those of the release before it.
struct LiveBytes {
  std::size_t requested_in = 0, requested_out = 0, peak_requested = 0;
  std::size_t rounded_in = 0, rounded_out = 0, peak_rounded = 0;

  // As align_request(), without its check for overflow: a device has served these bytes, and the
  // check costs a nanosecond of a planned request.
  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + (bytes == 0) + kAlignmentBytes - 1) & ~(kAlignmentBytes - 1);
  }
  void acquired(std::size_t bytes) noexcept {
    requested_in += bytes;
    rounded_in += rounded(bytes);
    if (requested_in - requested_out > peak_requested) {
      peak_requested = requested_in - requested_out;
    }
    if (rounded_in - rounded_out > peak_rounded) peak_rounded = rounded_in - rounded_out;
  }
  std::size_t rounded_now() const noexcept { return rounded_in - rounded_out; }
  void released(std::size_t bytes) noexcept {
    requested_out += bytes;
    rounded_out += rounded(bytes);
  }
};

// Totals of an arena that the hot path does not touch.
struct ArenaCounters {
  std::uint64_t within_plan = 0;        // requests that have a place in the plan, of settled steps
  std::uint64_t left_out = 0;           // of those, never made; includes the running step
  std::uint64_t elsewhere = 0;          // of those, served elsewhere; includes the running step
  std::uint64_t interrupted = 0;        // requests of steps, made while interrupted
  std::uint64_t beyond_plan = 0;        // requests without a place, and those outside of steps
  std::uint64_t in_order_releases = 0;  // of settled steps
  std::uint64_t slow_releases = 0;
  std::uint64_t commits = 0, decommits = 0;
  std::size_t peak_reserved_bytes = 0, recent_peak_reserved_bytes = 0;

  void observe_reserved(std::size_t bytes) noexcept {
    peak_reserved_bytes = std::max(peak_reserved_bytes, bytes);
    recent_peak_reserved_bytes = std::max(recent_peak_reserved_bytes, bytes);
  }
};

// Serves the requests of a step from one planned range of the device: request k returns
// base + offset[k] (PGMO section 4.2). Requests that the plan does not cover go elsewhere:
//
//   request                                                           served by
//   of a step without a plan, or interrupted between steps            arena if free, pool
//   outside of steps, or interrupted in one                           pool
//   planned to outlive its step                                       pool
//   beyond the plan, between its requests, or larger than planned     fallback
//   whose planned bytes an overdue block holds                        fallback
//
// The arena never hands out live bytes, whatever the program does. A planned block that is alive
// after its release was due is overdue, and so is every block of an earlier step or plan. A hot
// step has none; see ArenaClock. While there are some, each request's range is looked up among
// theirs.
//
// Under a plan whose requests are matched by tag, a step may leave requests out: the clock passes
// them as if they had been made and freed.
//
// Under a plan whose requests are matched by size, a request takes the next place of its size
// within kReach places. Where there is none, a step that follows its plan so far has made a request
// that the plan lacks; any other step has other sizes, so that the request takes the next place.
//
// The arena lends free bytes before the fallback is asked if steps are known to differ, so that a
// step that leaves its plan is not paid twice. A lent block that outlives its step keeps its bytes
// of the arena; if steps should be alike, the fallback is therefore asked at once.
//
// A log keeps what a step did outside of its plan; a session plans anew from it.
//
// O(1) a planned request or release, without heap allocation, device or pool; O(log overdue blocks)
// while some are overdue; O(tag) when matching by tag. At most 2^32 requests a step. Throws
// OutOfMemory from pool or fallback; a refused request is not counted as a request of the step.
class Arena final : public Allocator {
 public:
  // All outlive the arena. `address_bytes` is the address space to reserve: the largest plan.
  Arena(Device& device, Allocator& pool, Allocator& fallback, std::size_t address_bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // --- the hot path ---

  Extent acquire(std::size_t bytes, const Tag& tag) override {
    if (const StepSlot* slot = clock_.serve(bytes)) [[likely]] {
      live_.acquired(bytes);
      return {base_ + slot->offset, bytes, clock_.cookie(*slot)};
    }
    return acquire_slowly(bytes, tag);
  }
  void release(const Extent& extent) noexcept override {
    live_.released(extent.bytes);
    if (!clock_.release(extent.cookie)) [[unlikely]]
      release_slowly(extent);
  }

  // --- steps ---

  void begin_step(ShapeKey key) override;  // implies settle()
  void end_step() override;
  void abandon_step() override;
  void interrupt() override;
  void resume() noexcept override;

  // Sets the plan of the next steps; null: they are recorded. Between steps; implies settle().
  // Throws PlanMismatch when the range is too small.
  void install(std::shared_ptr<const StepLayout> layout);
  // From now on, lends free bytes to requests that leave the plan.
  // `grows`: the arena grows where none are free, while the device has bytes.
  void lend_beside_plan(bool grows) noexcept {
    lends_beside_plan_ = true;
    grows_ = grows;
  }
  // Finishes the log of the step that ended: blocks alive now outlived it. Implied by begin_step().
  void settle();
  // The log of the running step, or of the last one; complete after settle().
  const StepLog& log() const noexcept { return log_; }
  bool in_step() const noexcept { return in_step_; }
  // The most rounded bytes that the last step had alive at once, without those from before it.
  std::size_t step_bytes() const noexcept { return step_bytes_; }
  // Requests of this step, including those that it left out of the plan.
  RequestIndex requests_made() const noexcept { return clock_.next() + extra_; }

  // --- the range; between steps, implies settle() ---

  // Commits enough for a plan of `bytes` and for the blocks that are alive in the range. Throws
  // OutOfMemory; then nothing has changed.
  void commit(std::size_t bytes);
  // The same, and moves the plan to where no block is alive: a plan over a block that stays would
  // deviate in every step. commit() moves the plan back once the block is gone.
  void commit_around_survivors(std::size_t bytes);
  bool moved() const noexcept { return shift_bytes_ > 0; }
  std::size_t arena_bytes() const noexcept { return range_ ? range_->committed_bytes() : 0; }
  std::size_t overdue_blocks() const noexcept { return unplanned_.overdue.size(); }
  void release_cached() noexcept override { unplanned_.release_cached(); }

  // --- statistics ---

  // Reserved bytes include those of pool and fallback. O(blocks of the plan).
  Statistics statistics() const override;
  std::uint64_t planned_requests() const noexcept;  // served by the plan, in all steps
  std::uint64_t fallback_requests() const noexcept { return unplanned_.counts().fallback_requests; }
  std::uint64_t interrupted_requests() const noexcept { return counts_.interrupted; }
  std::uint64_t pool_calls() const noexcept { return unplanned_.counts().pool_calls; }
  // The peak since construction or the last call to restart_peak().
  std::size_t recent_peak_reserved_bytes() const noexcept {
    return counts_.recent_peak_reserved_bytes;
  }
  void restart_peak() noexcept { counts_.recent_peak_reserved_bytes = reserved_bytes(); }

 private:
  // The cookie of a lent block: an epoch that no step reaches. A block that a pool serves has its
  // row of unplanned_, below the first epoch.
  static constexpr std::uint64_t kLent = ArenaClock::kEpochMask;
  // Matching by size: how far a request may be from the next place, and after how many requests
  // without a place a step no longer follows its plan.
  static constexpr RequestIndex kReach = 64;

  Extent acquire_slowly(std::size_t bytes, const Tag& tag);
  Extent acquire_unplanned(std::size_t bytes, const Tag& tag);
  Extent acquire_planned(std::size_t bytes, const Tag& tag);
  Extent acquire_observed(Observation observation, Allocator& server, const Tag& tag);
  Extent acquire_elsewhere(Allocator& server, std::size_t bytes, const Tag& tag,
                           std::size_t observation = ArenaFallback::kNotObserved);
  std::optional<Extent> lend(std::size_t bytes, const ArenaFallback::Owner& owner);
  void list(RequestIndex request, const ByteRange& place);
  void grow_for(std::size_t bytes);
  bool find_place(std::size_t bytes, const Tag& tag);
  bool find_size(std::size_t bytes);
  void leave_out_until(RequestIndex place);
  ByteRange planned_place(const StepSlot& slot) const noexcept;

  void release_slowly(const Extent& extent) noexcept;
  void mark_overdue(RequestIndex request);
  void update_gate() noexcept;
  void note_release(const ArenaFallback::Owner& owner) noexcept;
  void note_survivors();

  void commit_at(std::size_t shift_bytes, std::size_t bytes);
  std::size_t reserved_bytes() const { return arena_bytes() + unplanned_.reserved_bytes(); }
  std::size_t largest_free_range_bytes() const;

  ArenaClock clock_;
  std::byte* base_ = nullptr;  // of the plan
  LiveBytes live_;
  std::size_t bytes_before_step_ = 0, peak_before_step_ = 0, step_bytes_ = 0;  // rounded

  Device& device_;
  std::size_t address_bytes_;
  std::unique_ptr<Range> range_;
  std::size_t shift_bytes_ = 0;  // from the range's base to base_
  ArenaFallback unplanned_;
  bool lends_beside_plan_ = false, grows_ = false;
  bool lists_blocks_ = false;  // since the running step asked for bytes beside its plan
  PlannedBlocks planned_;      // the list; blocks that died since are still in it
  StepLog log_;
  std::uint32_t extra_ = 0;  // requests of the step that have no place in the plan
  int interruptions_ = 0;
  RequestIndex followed_ = 0;  // matching by size: places found less those missed, to kReach
  bool in_step_ = false;
  bool settled_ = true;
  ArenaCounters counts_;
};

}  // namespace skyline
