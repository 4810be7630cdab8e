#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace skyline {

// Returns the upper median, or nothing if there are no values.
template <typename T>
std::optional<double> median(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

}  // namespace skyline
