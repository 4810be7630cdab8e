#pragma once

#include <functional>

namespace skyline {

// Calls work(k) for k = 0 … workers − 1 in parallel: 0 on the caller's thread, each other on a
// thread of its own. Returns when all have ended; then rethrows the exception of the lowest k that
// threw.
void run_workers(int workers, const std::function<void(int)>& work);

}  // namespace skyline
