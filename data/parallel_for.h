#pragma once

#include <cstddef>
#include <functional>

namespace skyline {

// Calls work(worker, index) for every index below `count`, on `threads` threads of which the
// caller's is worker 0; progress(done) is called on the caller's thread now and then. When calls
// throw, no further index is begun, and the exception of the lowest index is thrown at the end.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t worker, std::size_t index)>& work,
                  const std::function<void(std::size_t done)>& progress = {});

}  // namespace skyline
