#pragma once

#include <cstddef>

namespace skyline {

// Returns the calls of operator new since the program began. Link heap_counter.cpp into a separate
// program: it replaces plain and aligned operator new.
std::size_t heap_allocations() noexcept;

}  // namespace skyline
