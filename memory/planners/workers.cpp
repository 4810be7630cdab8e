#include "memory/planners/workers.h"

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace skyline {

void run_workers(int workers, const std::function<void(int)>& work) {
  if (workers <= 1) return work(0);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  const auto guarded = [&](int worker) {
    try {
      work(worker);
    } catch (...) {
      errors[static_cast<std::size_t>(worker)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(errors.size() - 1);
    int worker = 1;
    try {
      for (; worker < workers; ++worker) threads.emplace_back(guarded, worker);
    } catch (const std::system_error&) {
      // No room for another stack: this thread does the work of those that are missing.
    }
    guarded(0);
    for (; worker < workers; ++worker) guarded(worker);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace skyline
