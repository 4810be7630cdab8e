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

double known(const std::optional<std::uint64_t>& value) {
  return value ? static_cast<double>(*value) : std::numeric_limits<double>::quiet_NaN();
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

void StepsChart::add(const std::string& name, const StepMemory& step) {
  if (lines.empty()) lines.push_back({.name = name});
  for (std::size_t i = lengths.size(); i < step.lengths.size(); ++i) {
    lengths.push_back({.name = step.lengths[i].first});
  }
  lines.front().reserved_bytes.add(known(step.reserved_bytes));
  lines.front().replans.add(static_cast<double>(step.replans));
  lines.front().replans_by_hundreds.add(static_cast<double>(step.replans));
  live_bytes.add(known(step.live_bytes));
  for (std::size_t i = 0; i < step.lengths.size(); ++i) {
    lengths[i].values.add(static_cast<double>(step.lengths[i].second));
  }
}

void StepsChart::add_missing(std::uint64_t steps) {
  for (StepsLine& line : lines) {
    line.reserved_bytes.add_missing(steps);
    line.replans.add_missing(steps);
    line.replans_by_hundreds.add_missing(steps);
  }
  live_bytes.add_missing(steps);
  for (StepsSeries& series : lengths) series.values.add_missing(steps);
}

std::vector<std::uint64_t> sums_of(const StepSeries& series) {
  std::vector<std::uint64_t> sums;
  for (const StepSeries::Point& point : series.points()) {
    sums.push_back(static_cast<std::uint64_t>(point.sum));
  }
  return sums;
}

}  // namespace skyline
