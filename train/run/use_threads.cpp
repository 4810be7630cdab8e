#include "train/run/use_threads.h"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <stdexcept>

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

void use_threads(std::int64_t threads) {
  omp_set_num_threads(static_cast<int>(threads));
  const auto limit = address_limit();
  if (!limit || threads < 2) return;
  const std::size_t needed_bytes = static_cast<std::size_t>(threads - 1) * stack_bytes();
  if (needed_bytes > limit->free_bytes()) {
    throw std::runtime_error(fmt::format(
        "the stacks of {} threads need {}, but {} leaves {}: use fewer --threads", threads,
        format_bytes(needed_bytes), limit->name, format_bytes(limit->free_bytes())));
  }
#pragma omp parallel
  {
#pragma omp barrier
  }
}

}  // namespace skyline
