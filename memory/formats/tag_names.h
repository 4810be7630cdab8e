#pragma once

#include <string_view>

#include "memory/allocator.h"

namespace skyline {

// The inverse of phase_name() and category_name(). Unknown names, which other programs write,
// become kOutside and kUnknown.
constexpr int kPhaseCount = 4;

inline Phase phase_called(std::string_view name) {
  for (int i = 0; i < kPhaseCount; ++i) {
    if (phase_name(static_cast<Phase>(i)) == name) return static_cast<Phase>(i);
  }
  return Phase::kOutside;
}

inline Category category_called(std::string_view name) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (category_name(static_cast<Category>(i)) == name) return static_cast<Category>(i);
  }
  return Category::kUnknown;
}

}  // namespace skyline
