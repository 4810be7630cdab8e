#pragma once

#include <cstddef>

namespace skyline {

// A mebibyte, in bytes.
inline constexpr std::size_t kMiB = std::size_t{1} << 20;

}  // namespace skyline
