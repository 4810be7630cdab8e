#pragma once

#include <cstddef>
#include <functional>

namespace skyline {

// Calls work(worker, index) for every index below `count` on `threads` threads, or on as many as
// the system gives; the caller's thread is worker 0 and also calls progress(done) from time to
// time. After an exception no further index begins; at the end, the exception of the lowest index
// is rethrown.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t worker, std::size_t index)>& work,
                  const std::function<void(std::size_t done)>& progress = {});

}  // namespace skyline
