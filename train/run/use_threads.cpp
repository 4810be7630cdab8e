#include "train/run/use_threads.h"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <future>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "memory/machine/machine_memory.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/console.h"

namespace skyline {
namespace {

std::size_t stack_bytes() {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return bytes;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

// OpenMP's threads wait for each other in loops, which take the processors of those that compute.
void warn_of_threads(std::int64_t threads, Console& console) {
  if (threads <= omp_get_num_procs()) return;
  console.warn(fmt::format("{} threads on {} processors: steps may take many times as long",
                           threads, omp_get_num_procs()));
}

namespace {

// Starts so many threads beside this one, all at once, and ends them. Throws std::runtime_error if
// the system gives fewer.
void try_threads(std::int64_t others) {
  std::promise<void> all;
  const std::shared_future<void> end = all.get_future().share();
  std::vector<std::jthread> started;
  std::string problem;
  try {
    while (std::ssize(started) < others) started.emplace_back([end] { end.wait(); });
  } catch (const std::system_error& error) {
    problem = fmt::format(
        "the system gives {} threads of {} ({}; ulimit -u, pids.max of a cgroup): use fewer "
        "--threads",
        started.size() + 1, others + 1, error.code().message());
  }
  all.set_value();
  started.clear();
  if (!problem.empty()) throw std::runtime_error(problem);
}

}  // namespace

void use_threads(std::int64_t threads) {
  omp_set_num_threads(static_cast<int>(threads));
  if (threads < 2) return;
  const auto limit = address_limit();
  const std::size_t needed_bytes = static_cast<std::size_t>(threads - 1) * stack_bytes();
  if (limit && needed_bytes > limit->free_bytes()) {
    throw std::runtime_error(fmt::format(
        "the stacks of {} threads need {}, but {} leaves {}: use fewer --threads", threads,
        format_bytes(needed_bytes), limit->name, format_bytes(limit->free_bytes())));
  }
  try_threads(threads - 1);
#pragma omp parallel
  {
#pragma omp barrier
  }
}

}  // namespace skyline
