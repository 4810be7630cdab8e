#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
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

}  // namespace skyline
