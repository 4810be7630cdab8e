#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/device.h"
#include "memory/live_table.h"
#include "memory/session/overdue_blocks.h"
#include "memory/session/step_layout.h"
#include "memory/session/step_log.h"
#include "memory/session/stretched_plan.h"

namespace skyline {

// Serves the requests of a step from one planned range of the device: request k returns
// base + offset[k] (PGMO section 4.2). What the plan does not cover goes elsewhere:
//
//   request                                                      served by
//   of a step without a plan, where the arena has room           arena
//   while interrupted between steps, where the arena has room    arena
//   outside of steps, while interrupted, of a step without plan  pool
//   planned to outlive its step                                  pool
//   beyond the plan or between its requests, larger than planned fallback
//   whose planned bytes an overdue block holds                   fallback
//
// Never hands out bytes that are alive, whatever the program does. Serving request k moves the
// plan's clock to lower[k]; a planned block still alive although the plan let it die by then is
// overdue, and so is every block alive from an earlier step or plan. A hot step frees its blocks in
// the planned order, so one counter, the releases seen in that order, tells that none is overdue.
// While some are, each request's range is looked up among theirs.
//
// A request somewhat larger than planned tells that others will be, too. Rather than serving all of
// them from the fallback, beside an arena whose bytes for them stay unused, the rest of the step
// uses the plan stretched by what the request needs, once that adds at most half of what larger
// requests would have taken from the fallback. See StretchedPlan.
//
// A step may leave out requests of a plan whose places are found by tag; the plan's clock passes
// over them as if each had been made and freed.
//
// Between steps the arena's bytes are nobody's, so an interrupted part there, an evaluation say,
// may have them. What it keeps is as good as overdue: no request is served over it.
//
// What a step did besides its plan is kept in a log, from which a session plans anew.
//
// O(1) a planned request or release, with no heap allocation and no call to device or pools;
// O(log overdue blocks) while some are overdue, O(tag) where places are found by tag. Steps below
// 2^32 requests. Throws OutOfMemory from pool or fallback; a refused request does not count as a
// request of the step.
class Arena final : public Allocator {
 public:
  // All outlive the arena. `address_bytes` is the address space to reserve: the largest plan.
  Arena(Device& device, Allocator& pool, Allocator& fallback, std::size_t address_bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Extent acquire(std::size_t bytes, const Tag& tag) override {
    if (next_ < hot_end_) [[likely]] {
      const StepSlot& slot = slots_[next_];
      if (bytes < slot.bytes_limit && cursor() >= slot.released_before) [[likely]] {
        ++next_;
        live_.acquired(bytes);
        return {base_ + slot.offset, bytes, (expected_ & kEpochMask) | slot.rank};
      }
    }
    return acquire_slowly(bytes, tag);
  }
  void release(const Extent& extent) noexcept override {
    live_.released(extent.bytes);
    if (extent.cookie == expected_) [[likely]] {
      ++expected_;
    } else {
      release_slowly(extent);
    }
  }
  // Reserved bytes include those of pool and fallback. O(blocks of the plan).
  Statistics statistics() const override;

  void begin_step(ShapeKey key) override;  // implies settle()
  void end_step() override;
  void abandon_step() override;
  void interrupt() override;
  void resume() noexcept override;
  void release_cached() noexcept override;

  // The plan of the steps to come; none (null): they are recorded, the pool serves them. Between
  // steps; implies settle(). The range must hold the plan: throws PlanMismatch else.
  void install(std::shared_ptr<const StepLayout> layout);
  // Makes the range hold a plan of `bytes`, and the blocks that are alive in it in any case.
  // Between steps; implies settle(). Throws OutOfMemory, and nothing has changed.
  void commit(std::size_t bytes);
  // As commit, and moves the plan to where no block is alive. For blocks that stay: a plan that
  // lies over one deviates in every step. commit() moves it back once there is none.
  void commit_around_survivors(std::size_t bytes);
  bool moved() const noexcept { return shift_bytes_ > 0; }

  // Closes the books of the step that ended: what is alive now outlived it. Implied by begin_step.
  void settle();
  // Of the running step; of the one that ended last until the next begins. Complete after settle().
  const StepLog& log() const noexcept { return log_; }

  bool in_step() const noexcept { return in_step_; }
  // In this step, those that were left out of the plan's included.
  RequestIndex requests_made() const noexcept { return next_ + extra_; }
  std::size_t arena_bytes() const noexcept { return range_ ? range_->committed_bytes() : 0; }
  std::uint64_t planned_requests() const noexcept;  // served by the plan, of all steps
  std::uint64_t fallback_requests() const noexcept { return fallback_requests_; }
  std::uint64_t pool_calls() const noexcept { return pool_calls_; }
  std::size_t overdue_blocks() const noexcept { return overdue_.size(); }
  // The most reserved since construction or the last call to restart_peak().
  std::size_t recent_peak_reserved_bytes() const noexcept { return recent_peak_reserved_bytes_; }
  void restart_peak() noexcept { recent_peak_reserved_bytes_ = reserved_bytes(); }

 private:
  // A cookie is an epoch (one a step, above 0) over a rank; 0 over a row of elsewhere_; or kLent.
  static constexpr std::uint64_t kEpochMask = ~std::uint64_t{0xFFFFFFFF};
  static constexpr std::uint64_t kLent = kEpochMask;  // an epoch that no step reaches
  static constexpr std::size_t kNotObserved = ~std::size_t{0};

  // Bytes of live blocks, wherever they are served; sums in both directions keep the two chains of
  // additions apart.
  struct LiveBytes {
    std::size_t requested_in = 0, requested_out = 0, peak_requested = 0;
    std::size_t rounded_in = 0, rounded_out = 0, peak_rounded = 0;

    void acquired(std::size_t bytes) noexcept {
      requested_in += bytes;
      rounded_in += align_request(bytes);
      if (requested_in - requested_out > peak_requested) {
        peak_requested = requested_in - requested_out;
      }
      if (rounded_in - rounded_out > peak_rounded) peak_rounded = rounded_in - rounded_out;
    }
    void released(std::size_t bytes) noexcept {
      requested_out += bytes;
      rounded_out += align_request(bytes);
    }
  };
  // A block that pool or fallback serves.
  struct Elsewhere {
    Allocator* server = nullptr;
    std::uint64_t cookie = 0;
    std::uint64_t epoch = 0;  // of the step that requested it
    std::size_t observation = kNotObserved;
  };

  std::uint32_t cursor() const noexcept { return static_cast<std::uint32_t>(expected_); }
  std::uint64_t epoch() const noexcept { return expected_ & kEpochMask; }
  std::uint32_t ranks() const noexcept;
  bool alive(RequestIndex request) const noexcept;
  void commit_at(std::size_t shift_bytes, std::size_t bytes);
  Place planned_place(const StepSlot& slot) const noexcept;
  Place place_of(RequestIndex request) const noexcept;  // of one that the plan served
  bool is_free(const Place& place) noexcept;
  void note_larger(std::size_t bytes, const Tag& tag);
  void stretch_for(const StepSlot& slot, std::uint64_t bytes);
  bool grow_to(std::size_t bytes);
  std::size_t reserved_bytes() const noexcept;
  std::size_t largest_free_range_bytes() const;

  Extent acquire_slowly(std::size_t bytes, const Tag& tag);
  std::optional<Extent> lend(std::size_t bytes, std::uint64_t epoch, std::size_t observation);
  Extent acquire_unplanned(std::size_t bytes, const Tag& tag);
  bool find_place(const Tag& tag);
  Extent acquire_planned(std::size_t bytes, const Tag& tag);
  Extent acquire_observed(Observation observation, Allocator& server, const Tag& tag);
  Extent acquire_elsewhere(Allocator& server, std::size_t bytes, const Tag& tag,
                           std::size_t observation);
  Extent ask(Allocator& server, std::size_t bytes, const Tag& tag);
  void advance_clock(std::uint32_t releases);
  void mark_overdue(std::uint32_t rank);
  void mark_released(std::uint32_t rank) noexcept;
  void release_slowly(const Extent& extent) noexcept;
  void release_elsewhere(std::uint64_t row, const Extent& extent) noexcept;
  void release_overdue(const Extent& extent) noexcept;
  void note_survivors();
  void update_gate() noexcept;
  void update_peak_reserved() noexcept;

  // The hot path reads and writes these.
  const StepSlot* slots_ = nullptr;
  std::uint32_t next_ = 0;     // the plan's requests that were made or left out
  std::uint32_t hot_end_ = 0;  // the plan's requests; 0 while the slow path must look at each
  std::uint64_t expected_ = std::uint64_t{1} << 32;  // epoch over cursor: the next planned release
  std::byte* base_ = nullptr;
  LiveBytes live_;

  Device& device_;
  Allocator& pool_;
  Allocator& fallback_;
  std::size_t address_bytes_;
  std::unique_ptr<Range> range_;
  std::size_t shift_bytes_ = 0;  // from the range's base to the plan's, base_
  std::shared_ptr<const StepLayout> layout_;
  std::vector<std::uint64_t> released_in_;  // rank → epoch in which it was freed, or never lived
  OverdueBlocks overdue_;
  StretchedPlan stretch_;              // of the running step
  std::uint64_t displaced_bytes_ = 0;  // of its requests larger than planned, rounded
  LiveTable<Elsewhere> elsewhere_;
  StepLog log_;
  std::uint32_t extra_ = 0;    // requests made beyond the plan and between its own
  std::uint32_t skipped_ = 0;  // advances of the cursor that were no release in order
  int interruptions_ = 0;
  bool in_step_ = false;
  bool settled_ = true;

  std::uint64_t plan_requests_ = 0;      // of settled steps: requests within the plan
  std::uint64_t elsewhere_in_plan_ = 0;  // of those, served elsewhere; of the running step too
  std::uint64_t left_out_ = 0;           // of those, never made; of the running step too
  std::uint64_t other_requests_ = 0;     // outside of steps or beyond the plan
  std::uint64_t in_order_releases_ = 0;  // of settled steps
  std::uint64_t slow_releases_ = 0;
  std::uint64_t fallback_requests_ = 0, pool_calls_ = 0;
  std::uint64_t commits_ = 0, decommits_ = 0, flushes_ = 0, refusals_ = 0;
  std::size_t peak_reserved_bytes_ = 0, recent_peak_reserved_bytes_ = 0;
};

}  // namespace skyline
