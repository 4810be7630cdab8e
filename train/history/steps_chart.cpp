#include "train/history/steps_chart.h"

#include <limits>

namespace skyline {
namespace {

double known(const std::optional<std::uint64_t>& value) {
  return value ? static_cast<double>(*value) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

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
