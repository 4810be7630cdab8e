#include "data/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace skyline {
namespace {

// Indices begin in order, so the lowest index that fails is known at the end for any timing.
struct Run {
  const std::size_t count;
  const std::function<void(std::size_t, std::size_t)>& work;
  std::atomic<std::size_t> next = 0, done = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::size_t failed_index = 0;  // guarded by mutex
  std::exception_ptr failure;    // guarded by mutex

  // Returns false when no index is left to begin.
  bool step(std::size_t worker) {
    if (failed) return false;
    const std::size_t index = next++;
    if (index >= count) return false;
    try {
      work(worker, index);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure || index < failed_index) {
        failure = std::current_exception();
        failed_index = index;
      }
      failed = true;
    }
    ++done;
    return true;
  }
};

}  // namespace

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t worker, std::size_t index)>& work,
                  const std::function<void(std::size_t done)>& progress) {
  Run run{.count = count, .work = work};
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t worker = 1; worker < std::min(threads, count); ++worker) {
        others.emplace_back([&run, worker] {
          while (run.step(worker)) continue;
        });
      }
    } catch (const std::system_error&) {  // the system gives no more threads: fewer do the work
    }
    while (run.step(0)) {
      if (progress) progress(run.done);
    }
  }
  if (run.failure) std::rethrow_exception(run.failure);
}

}  // namespace skyline
