#pragma once

#include <cstdint>

namespace skyline {

class Console;

// Warns if the machine has fewer processors.
void warn_of_threads(std::int64_t threads, Console& console);

// Lets ops run on this many threads, whatever OMP_NUM_THREADS says. It starts them now, before
// others take what the system permits: OpenMP would later end the program without a reason. Throws
// std::runtime_error if there is no room for their stacks or the system gives fewer.
void use_threads(std::int64_t threads);

}  // namespace skyline
