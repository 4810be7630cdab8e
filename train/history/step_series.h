#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

// A number per step of a run of any length, in bounded memory. Each point holds the same number of
// consecutive steps. When there are too many points, each two become one.
class StepSeries {
 public:
  static constexpr std::size_t kMostPoints = 4096;

  struct Point {
    double sum = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    std::uint64_t measured = 0;  // steps with a finite value; 0: the point is a gap

    double mean() const { return sum / static_cast<double>(measured); }
    bool operator==(const Point&) const = default;
  };

  explicit StepSeries(std::size_t most_points = kMostPoints, std::uint64_t steps_per_point = 1)
      : most_points_(most_points), steps_per_point_(steps_per_point) {}
  static StepSeries of(std::span<const double> values);

  // Adds a step. A value that is not finite is not measured.
  void add(double value);
  // Adds steps that were not measured. O(points), however many steps.
  void add_missing(std::uint64_t steps);

  std::uint64_t steps() const noexcept { return steps_; }
  // The last point may have fewer steps.
  std::uint64_t steps_per_point() const noexcept { return steps_per_point_; }
  const std::vector<Point>& points() const noexcept { return points_; }
  bool empty() const noexcept { return steps_ == 0; }

  bool operator==(const StepSeries&) const = default;

 private:
  Point& open_point();  // the point of the next step

  std::size_t most_points_;
  std::uint64_t steps_per_point_;
  std::uint64_t steps_ = 0;
  std::vector<Point> points_;
};

// Values of a run of any length in bounded memory: all of them at first, later every second, every
// fourth and so on, always with the first.
template <typename T, std::size_t kMost = 4096>
class Samples {
 public:
  void add(const T& value) {
    if (seen_++ % stride_ != 0) return;
    kept_.push_back(value);
    if (kept_.size() < kMost) return;
    std::size_t index = 0;
    std::erase_if(kept_, [&index](const T&) { return index++ % 2 == 1; });
    stride_ *= 2;
  }

  const std::vector<T>& kept() const noexcept { return kept_; }
  // Each stride()-th value is kept.
  std::uint64_t stride() const noexcept { return stride_; }

 private:
  std::vector<T> kept_;
  std::uint64_t seen_ = 0, stride_ = 1;
};

// The memory of one allocator over the steps of a run.
struct StepsLine {
  std::string name;  // the allocator's
  // Peak of each step, including resident memory. A line that is shorter than others stopped there,
  // for instance because memory ran out.
  StepSeries reserved_bytes = StepSeries();
  StepSeries replans = StepSeries();  // new plans of each step
  // The same in few numbers, for text: of each 100 steps, in long runs of 200, 400 and so on.
  StepSeries replans_by_hundreds = StepSeries(1024, 100);
};

// Any count per step, such as the words of the longest source sentence.
struct StepsSeries {
  std::string name;  // "source"
  StepSeries values = StepSeries();
};

// The figures of one step; those that are not known are not measured.
struct StepMemory {
  std::optional<std::uint64_t> reserved_bytes, live_bytes;
  std::uint64_t replans = 0;  // new plans since the step before
  std::vector<std::pair<std::string, std::uint64_t>> lengths;
};

// Memory over the steps of a run, with every allocator on the same batches. Steps that share a
// point or a pixel are drawn from their minimum to their maximum.
struct StepsChart {
  std::uint64_t first_step = 1;  // its number
  std::vector<StepsLine> lines;  // empty: no chart
  // Peak of live bytes in each step, as requested, including resident memory; the same for all
  // lines. Empty: unknown.
  StepSeries live_bytes = StepSeries();
  std::vector<StepsSeries> lengths;  // drawn below, over the same steps
  std::string lengths_name;          // what they count: "longest sentence, in words"

  // Adds a step of the one allocator `name` to all series.
  void add(const std::string& name, const StepMemory& step);
  // Adds steps of which nothing is known to the series that there are.
  void add_missing(std::uint64_t steps);
};

// Returns the sums of a series' points.
std::vector<std::uint64_t> sums_of(const StepSeries& series);

}  // namespace skyline
