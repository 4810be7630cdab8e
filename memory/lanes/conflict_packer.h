#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/lanes/conflicts.h"

namespace skyline {

// Places blocks of given sizes one after another, each in the lowest hole that its conflicts leave.
// Returns their offsets. `order` names every block once. O(blocks²).
std::vector<std::uint64_t> place_in_order(const Conflicts& conflicts,
                                          std::span<const std::uint64_t> bytes,
                                          std::span<const std::size_t> order);

// Returns the highest byte that a block ends at.
std::uint64_t peak_of(std::span<const std::uint64_t> offsets, std::span<const std::uint64_t> bytes);

}  // namespace skyline
