#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace skyline {

// Every allocator rounds requests up to this unless it says otherwise (PGMO section 5.1).
inline constexpr std::size_t kAlignmentBytes = 512;

// Returns the smallest multiple of `alignment` (above 0) that is at least `size` (0 or above). When
// the type holds no such multiple, returns the largest one: no device has that many bytes, so a
// huge request is refused instead of wrapping to a small one.
template <std::integral Size>
constexpr Size align_up(Size size, std::type_identity_t<Size> alignment) noexcept {
  constexpr Size kMost = std::numeric_limits<Size>::max();
  const Size largest = kMost - kMost % alignment;
  if (size > largest) return largest;
  const Size over = size % alignment;
  return over == 0 ? size : size + (alignment - over);
}

// The same for a request, in which 0 bytes count as 1. Sizes from a trace go through
// align_checked() in trace.h, which throws instead of saturating.
constexpr std::uint64_t align_request(std::uint64_t bytes,
                                      std::uint64_t alignment = kAlignmentBytes) noexcept {
  return align_up(std::max<std::uint64_t>(bytes, 1), alignment);
}

}  // namespace skyline
