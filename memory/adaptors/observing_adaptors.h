// Adaptors that only watch: steps as traces, bytes by category.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/adaptors/adaptor.h"
#include "memory/trace.h"

namespace skyline {

// An interrupted part of a step: its requests, with ticks of their own. A block alive at its end
// has the tick count as its upper bound.
struct InterruptedPart {
  Tick at = 0;  // of the step, when the part began
  Trace trace = {};
};

// Records each step as a trace (PGMO section 4.1). A tick is a request of the step, or the release
// of a block that the step requested, even while interrupted. Requests outside of steps or while
// interrupted, their releases, and releases of older blocks make no tick. A block alive at
// end_step() gets the tick count as its upper bound. An abandoned step is discarded.
class RecordingAdaptor final : public Adaptor {
 public:
  explicit RecordingAdaptor(Allocator& upstream) : Adaptor(upstream) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  void begin_step(ShapeKey key) override;
  void end_step() override;
  void abandon_step() override;
  void interrupt() override;
  void resume() noexcept override;

  // The step that ended last; empty before.
  const Trace& last_step() const noexcept { return last_trace_; }
  // The parts of the last step that had some, in their order.
  const std::vector<InterruptedPart>& last_parts() const noexcept { return last_parts_; }

 private:
  static constexpr std::size_t kNotRecorded = ~std::size_t{0};
  struct Live {
    std::uint64_t upstream_cookie = 0;
    std::uint64_t step = 0;  // in which it was requested
    std::size_t request = kNotRecorded;
    std::size_t part = kNotRecorded;  // in which it was requested, of the step
  };

  bool in_part() const noexcept { return in_step_ && interruptions_ > 0; }

  LiveTable<Live> live_;
  Trace trace_, last_trace_;
  std::vector<InterruptedPart> parts_, last_parts_;
  Tick part_ticks_ = 0;  // of the running part
  std::uint64_t step_ = 0;
  Tick ticks_ = 0;
  int interruptions_ = 0;
  bool in_step_ = false;
};

// Serves each request from a second allocator, too, whose bytes nobody uses: so its statistics are
// those that it would have had in upstream's place.
class ShadowAdaptor final : public Adaptor {
 public:
  // Both outlive this. `shadow` needs no memory, and must hold what upstream holds.
  ShadowAdaptor(Allocator& upstream, Allocator& shadow) : Adaptor(upstream), shadow_(shadow) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  void begin_step(ShapeKey key) override;
  void end_step() override;
  void abandon_step() override;
  void release_cached() noexcept override;

 private:
  struct Live {
    std::uint64_t upstream_cookie = 0;
    Extent shadow;
  };

  Allocator& shadow_;
  LiveTable<Live> live_;
};

// Requested bytes of live blocks of one category, and their peak since construction.
struct CategoryUse {
  std::size_t bytes = 0;
  std::size_t peak_bytes = 0;
};

// The calls of one step, including interrupted parts. Under Timing::kOn, one time in nanoseconds
// for each call, which includes one reading of the clock.
struct StepCalls {
  std::uint64_t requests = 0;
  std::uint64_t releases = 0;
  std::uint64_t peak_bytes = 0;  // peak of requested bytes, including resident memory
  std::uint64_t kept_bytes = 0;  // requested bytes alive at its end beyond those at its begin
  std::vector<std::uint32_t> acquire_ns;
  std::vector<std::uint32_t> release_ns;
};

// Returns the median; empty when nothing was measured.
std::optional<double> median_ns(std::vector<std::uint32_t> times_ns);

// Counts requested bytes by category and calls by step; times the calls under Timing::kOn.
class StatisticsAdaptor final : public Adaptor {
 public:
  enum class Timing : bool { kOff, kOn };
  explicit StatisticsAdaptor(Allocator& upstream, Timing timing = Timing::kOff)
      : Adaptor(upstream), timed_(timing == Timing::kOn) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  void begin_step(ShapeKey key) override;
  void end_step() override;
  void abandon_step() override;

  const CategoryUse& use(Category category) const noexcept;
  // The step that ended last.
  const StepCalls& last_step() const noexcept { return last_step_; }

 private:
  struct Live {
    std::uint64_t upstream_cookie = 0;
    Category category = Category::kUnknown;
  };

  LiveTable<Live> live_;
  std::array<CategoryUse, kCategoryCount> use_;
  std::uint64_t live_bytes_ = 0, bytes_before_ = 0;  // of all categories; when the step began
  StepCalls step_, last_step_;
  bool in_step_ = false;
  bool timed_;
};

}  // namespace skyline
