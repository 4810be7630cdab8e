#include "train/history/step_series.h"

#include <algorithm>
#include <cmath>

namespace skyline {
namespace {

void merge(StepSeries::Point& point, const StepSeries::Point& later) {
  point.sum += later.sum;
  point.least = std::min(point.least, later.least);
  point.most = std::max(point.most, later.most);
  point.measured += later.measured;
}

}  // namespace

StepSeries StepSeries::of(std::span<const double> values) {
  StepSeries series;
  for (const double value : values) series.add(value);
  return series;
}

StepSeries::Point& StepSeries::open_point() {
  if (steps_ % steps_per_point_ != 0) return points_.back();
  if (points_.size() == most_points_) {
    for (std::size_t i = 0; i < points_.size() / 2; ++i) {
      points_[i] = points_[2 * i];
      merge(points_[i], points_[2 * i + 1]);
    }
    points_.resize(points_.size() / 2);  // most_points_ is even
    steps_per_point_ *= 2;
  }
  return points_.emplace_back();
}

void StepSeries::add(double value) {
  Point& point = open_point();
  if (std::isfinite(value)) {
    merge(point, {.sum = value, .least = value, .most = value, .measured = 1});
  }
  ++steps_;
}

void StepSeries::add_missing(std::uint64_t steps) {
  while (steps > 0) {
    open_point();
    const std::uint64_t room = steps_per_point_ - steps_ % steps_per_point_;
    const std::uint64_t taken = std::min(steps, room);
    steps_ += taken;
    steps -= taken;
  }
}

}  // namespace skyline
