// The cost of a request and a free under every allocator, on the simulated device.
//
// resnet20/A: one recorded training step of resnet20 at batch 32, repeated. request_ns and free_ns
// are means over the step's calls. Each call counts with its least time over all steps, because
// interruptions are longer than a call, without the cost of the clock. Time is the mean of a pair.
// live/A/N: a request and its free with N other blocks alive, each beside a free chunk.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  Tick tick = 0;
  bool request = false;
  std::size_t block = 0;
  std::size_t bytes = 0;
  double least_ns = std::numeric_limits<double>::infinity();
};

const std::vector<Event>& recorded_step() {
  static const std::vector<Event> recorded = [] {
    const Trace trace = dry_run({.model = "resnet20", .batch_size = 32}).trace;
    std::vector<Event> events;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      events.push_back({trace.blocks[i].lower, true, i, trace.blocks[i].bytes});
      events.push_back({trace.blocks[i].upper, false, i, 0});
    }
    std::ranges::sort(events, {}, [](const Event& e) { return std::pair(e.tick, e.request); });
    return events;
  }();
  return recorded;
}

std::unique_ptr<Allocator> make(const std::string& name, Device& device) {
  if (name == "planned") return std::make_unique<Session>(device);
  return make_allocator(name, device);
}

void run(Allocator& allocator, const Event& event, std::vector<Block>& blocks) {
  if (event.request) {
    blocks[event.block] = allocator.allocate(event.bytes);
  } else {
    blocks[event.block].reset();
  }
}

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

void replay_timed(Allocator& allocator, std::vector<Event>& events, std::vector<Block>& blocks) {
  allocator.begin_step(0);
  for (Event& event : events) {
    const Clock::time_point begin = Clock::now();
    run(allocator, event, blocks);
    event.least_ns = std::min(event.least_ns, nanoseconds(Clock::now() - begin));
  }
  allocator.end_step();
}

double clock_ns() {
  double least_ns = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 10'000; ++i) {
    const Clock::time_point begin = Clock::now();
    least_ns = std::min(least_ns, nanoseconds(Clock::now() - begin));
  }
  return least_ns;
}

double mean_ns(const std::vector<Event>& events, bool request) {
  double sum = 0;
  for (const Event& event : events) sum += event.request == request ? event.least_ns : 0;
  return sum / (static_cast<double>(events.size()) / 2) - clock_ns();
}

void resnet_step(benchmark::State& state, const std::string& name) {
  std::vector<Event> events = recorded_step();
  std::vector<Block> blocks(events.size() / 2);
  SimulatedDevice device;
  const auto allocator = make(name, device);
  for (int step = 0; step < 500; ++step) replay_timed(*allocator, events, blocks);
  const auto pairs = static_cast<benchmark::IterationCount>(blocks.size());
  while (state.KeepRunningBatch(pairs)) {
    allocator->begin_step(0);
    for (const Event& event : events) run(*allocator, event, blocks);
    allocator->end_step();
  }
  state.counters["request_ns"] = mean_ns(events, true);
  state.counters["free_ns"] = mean_ns(events, false);
  state.counters["requests"] = static_cast<double>(blocks.size());
}

constexpr std::size_t kSizes[] = {512, 65536, 4096, 1048576, 16384, 262144};

std::size_t size_of(std::size_t index) { return kSizes[index % std::size(kSizes)] + index; }

// Makes `count` blocks of many sizes, each followed by a free chunk, so that the index has entries.
std::vector<Block> live_blocks(Allocator& allocator, std::size_t count) {
  std::vector<Block> live, gaps;
  for (std::size_t i = 0; i < count; ++i) {
    live.push_back(allocator.allocate(size_of(i)));
    gaps.push_back(allocator.allocate(size_of(i + 1)));
  }
  return live;
}

// Repeats a step of 64 requests; includes begin_step's share.
void request_and_free(benchmark::State& state, const std::string& name) {
  SimulatedDevice device;
  const auto allocator = make_allocator(name, device);
  const auto live = live_blocks(*allocator, static_cast<std::size_t>(state.range(0)));
  std::size_t request = 0;
  for (auto _ : state) {
    if (request % 64 == 0) allocator->begin_step(0);
    Block block = allocator->allocate(size_of(request++ % 64));
    benchmark::DoNotOptimize(block.address());
  }
}

void register_all() {
  std::vector<std::string> names;
  for (const AllocatorEntry& entry : allocator_table()) names.emplace_back(entry.name);
  for (const std::string& name : names) {
    benchmark::RegisterBenchmark(("resnet20/" + name).c_str(), resnet_step, name);
  }
  benchmark::RegisterBenchmark("resnet20/planned", resnet_step, "planned");
  for (const std::string& name : names) {
    benchmark::RegisterBenchmark(("live/" + name).c_str(), request_and_free, name)
        ->Arg(0)
        ->Arg(100)
        ->Arg(1000);
  }
}

}  // namespace
}  // namespace skyline

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  skyline::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
