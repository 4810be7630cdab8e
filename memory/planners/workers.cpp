#include "memory/planners/workers.h"

#include <exception>
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
    for (int worker = 1; worker < workers; ++worker) threads.emplace_back(guarded, worker);
    guarded(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace skyline
