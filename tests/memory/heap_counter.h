#pragma once

#include <cstddef>

namespace skyline {

// Calls of operator new since the program began. Link heap_counter.cpp into a program of its own:
// it replaces operator new, plain and aligned, by one that counts.
std::size_t heap_allocations() noexcept;

}  // namespace skyline
