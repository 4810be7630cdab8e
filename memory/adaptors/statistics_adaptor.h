#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/adaptors/adaptor.h"
#include "memory/live_table.h"

namespace skyline {

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
  std::uint64_t live_bytes_ = 0;  // of all categories
  StepCalls step_, last_step_;
  bool in_step_ = false;
  bool timed_;
};

}  // namespace skyline
