// How planning time and memory grow up to 1,000,000 blocks. One line a target:
//
//   TRACE PLANNER BLOCKS  seconds  bytes a block  gap  exponent
//
// Seconds are the least of several runs; bytes are the peak of the heap while planning, without the
// trace; the exponent is that of seconds from 10^4 blocks to the line's blocks. "training":
// activations stack up and die in reverse, with workspaces. "mixed": most blocks are short-lived
// and small, some long-lived or large, anywhere in the step. Argument: the largest number of
// blocks, default 10^6.
#include <fmt/core.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>

#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/mixed_trace.h"

namespace {

std::atomic<std::size_t> heap_bytes{0};
std::atomic<std::size_t> most_heap_bytes{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = heap_bytes += malloc_usable_size(memory);
  std::size_t most = most_heap_bytes;
  while (most < now && !most_heap_bytes.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void uncount(void* memory) noexcept {
  if (memory != nullptr) heap_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(std::malloc(bytes)); }
void operator delete(void* memory) noexcept { uncount(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncount(memory); }

namespace skyline {
namespace {

constexpr std::size_t kFirst = 10000;
constexpr int kRuns = 5;
constexpr double kEnoughSeconds = 5;  // no further runs after this time

struct Measurement {
  double seconds = 0;
  double bytes_a_block = 0;
  double gap = 0;
};

Measurement measured(const Trace& trace, const PlannerEntry& planner, const PlanOptions& options) {
  using Clock = std::chrono::steady_clock;
  Measurement least{.seconds = INFINITY};
  double spent = 0;
  for (int run = 0; run < kRuns && spent < kEnoughSeconds; ++run) {
    const std::size_t before = heap_bytes;
    most_heap_bytes = before;
    const auto start = Clock::now();
    const Plan found = planner.function(trace, options);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    spent += seconds;
    least.seconds = std::min(least.seconds, seconds);
    least.bytes_a_block =
        static_cast<double>(most_heap_bytes - before) / static_cast<double>(trace.size());
    least.gap = found.gap();
  }
  return least;
}

const PlannerEntry& planner_named(std::string_view name) {
  for (const PlannerEntry& entry : planners()) {
    if (entry.name == name) return entry;
  }
  std::abort();  // unreachable: names come from this file
}

void print_growth(const char* kind, Trace (*trace_of)(std::size_t), std::string_view planner,
                  std::size_t largest, const PlanOptions& options, const char* label = "") {
  double first_seconds = 0;
  for (std::size_t blocks = kFirst; blocks <= largest; blocks *= 10) {
    const Trace trace = trace_of(blocks);
    const Measurement figures = measured(trace, planner_named(planner), options);
    const bool first = blocks == kFirst;
    if (first) first_seconds = figures.seconds;
    const double growth = static_cast<double>(blocks) / static_cast<double>(kFirst);
    const std::string exponent =
        first ? "-"
              : fmt::format("{:.2f}", std::log(figures.seconds / first_seconds) / std::log(growth));
    fmt::print("{:9} {:30} {:8} blocks {:9.4f} s {:6.1f} bytes a block, gap {:.4f}, exponent {}\n",
               kind, fmt::format("{}{}", planner, label), blocks, figures.seconds,
               figures.bytes_a_block, figures.gap, exponent);
    std::fflush(stdout);
  }
}

// A layer has four blocks.
Trace training_blocks(std::size_t blocks) { return training_trace(1, blocks / 4, 8 << 20); }

constexpr double kFirstAnswerSeconds = 2.5;  // the target for a million blocks

void print_all(std::size_t largest) {
  const std::pair<const char*, Trace (*)(std::size_t)> kinds[] = {{"training", training_blocks},
                                                                  {"mixed", mixed_trace}};
  for (const auto& [kind, trace_of] : kinds) {
    print_growth(kind, trace_of, "best-fit", largest, {});
    print_growth(kind, trace_of, "portfolio", largest, {.time_limit_seconds = kFirstAnswerSeconds},
                 ", first answer");
  }
  for (const auto& [kind, trace_of] : kinds) {
    for (const char* planner : {"greedy-by-size", "greedy-by-lifetime", "program-order"}) {
      print_growth(kind, trace_of, planner, std::min<std::size_t>(largest, 100000), {});
    }
  }
}

}  // namespace
}  // namespace skyline

int main(int arguments, char** values) {
  skyline::print_all(arguments > 1 ? std::strtoull(values[1], nullptr, 10) : 1000000);
}
