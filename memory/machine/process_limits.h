#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "memory/machine/memory_limit.h"

namespace skyline {

// The limits of this process alone, which make the kernel refuse memory: RLIMIT_AS (`ulimit -v`,
// all addresses) and RLIMIT_DATA (`ulimit -d`, private writable memory).
std::vector<MemoryLimit> process_limits();
// The first of the two.
std::optional<MemoryLimit> address_limit();

// Returns the limit that explains why the kernel refused `bytes`, or the kernel's own words
// otherwise. Call it before errno changes.
MemoryLimit refusing_limit(std::size_t bytes);

}  // namespace skyline
