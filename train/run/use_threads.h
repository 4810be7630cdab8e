#pragma once

#include <cstdint>

namespace skyline {

class Console;

// Warns if the machine has fewer processors.
void warn_of_threads(std::int64_t threads, Console& console);

// Lets ops run on this many threads. Under RLIMIT_AS it starts them now, before other memory takes
// the addresses of their stacks: OpenMP would later end the program without a reason. Throws
// std::runtime_error if there is no room for the stacks.
void use_threads(std::int64_t threads);

}  // namespace skyline
