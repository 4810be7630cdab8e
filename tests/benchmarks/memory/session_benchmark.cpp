// The cost of a request and its release: planned, from the pool, and the floor that every allocator
// pays for the interface. The step resembles training: activations pile up in the forward pass and
// die in the backward pass, and each layer has a workspace.
//
// The first three report the time of a pair; planned_apart the nanoseconds of a request and of a
// release; planned_against_pool measures both in turns, in one run, and reports the ratio.
//
// sequences and sequences_pool: 2,000 steps of an encoder and decoder whose batches all differ in
// length, packed and cell by cell. An iteration is the whole run; everything but its time is the
// same in each. replanning: how long begin_step waits, for plans made there and in the background.
#include <benchmark/benchmark.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/allocators.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"
#include "tests/memory/session/sequence_program.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

// CPU time of this thread, which other programs do not change. Reading it is a system call.
double cpu_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// One request or one release of a step.
struct Event {
  std::size_t block = 0;
  std::size_t bytes = 0;
  bool request = true;
};

// Keeps `layers` activations alive at the turn from forward to backward.
std::vector<Event> training_step(std::size_t layers) {
  std::vector<Event> events;
  std::size_t blocks = 0;
  const auto request = [&](std::size_t bytes) {
    events.push_back({blocks, bytes, true});
    return blocks++;
  };
  const auto release = [&](std::size_t block) { events.push_back({block, 0, false}); };
  const auto bytes_of = [](std::size_t layer) { return 2048 + layer * 7919 % 97 * 4096; };
  std::vector<std::size_t> activations;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    activations.push_back(request(bytes_of(layer)));
    release(request(512 * (1 + layer % 5)));
  }
  std::size_t gradient = request(bytes_of(layers));
  for (std::size_t layer = layers; layer-- > 0;) {
    const std::size_t next = request(bytes_of(layer));
    release(request(512 * (1 + layer % 7)));
    release(gradient);
    release(activations[layer]);
    gradient = next;
  }
  release(gradient);
  return events;
}

std::size_t blocks_of(const std::vector<Event>& events) { return (events.size() + 1) / 2; }

void replay(Allocator& allocator, const std::vector<Event>& events, std::vector<Block>& blocks) {
  allocator.begin_step(0);
  for (const Event& event : events) {
    if (event.request) {
      blocks[event.block] = allocator.allocate(event.bytes);
    } else {
      blocks[event.block].reset();
    }
  }
  allocator.end_step();
}

double nanoseconds_a_pair(Allocator& allocator, const std::vector<Event>& events,
                          std::vector<Block>& blocks, int steps) {
  const double begin = cpu_nanoseconds();
  for (int step = 0; step < steps; ++step) replay(allocator, events, blocks);
  return (cpu_nanoseconds() - begin) / steps / static_cast<double>(blocks_of(events));
}

// Serves at once: the cost of the virtual calls, the Block and the loop.
class Floor final : public Allocator {
 public:
  Extent acquire(std::size_t bytes, const Tag&) override { return {&byte_, bytes, 0}; }
  void release(const Extent&) noexcept override {}
  Statistics statistics() const override { return {}; }

 private:
  std::byte byte_{};
};

void run(benchmark::State& state, Allocator& allocator) {
  const std::vector<Event> events = training_step(static_cast<std::size_t>(state.range(0)));
  std::vector<Block> blocks(blocks_of(events));
  for (int step = 0; step < 3; ++step) replay(allocator, events, blocks);
  for (auto _ : state) replay(allocator, events, blocks);
  state.counters["pair"] = benchmark::Counter(
      static_cast<double>(blocks_of(events)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void request_and_release_floor(benchmark::State& state) {
  Floor floor;
  run(state, floor);
}
void request_and_release_planned(benchmark::State& state) {
  SimulatedDevice device;
  Session session(device);
  run(state, session);
  if (session.session_statistics().deviations > 0) state.SkipWithError("the steps were not hot");
}
void request_and_release_pool(benchmark::State& state) {
  SimulatedDevice device;
  BestFitPool pool(device);
  run(state, pool);
}

// Times all requests of a step, then all releases in the planned order. Takes the least over all
// steps, because interruptions are longer than a step.
void planned_apart(benchmark::State& state) {
  const auto blocks_alive = static_cast<std::size_t>(state.range(0));
  SimulatedDevice device;
  Session session(device);
  std::vector<Block> blocks(blocks_alive);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double allocate_ns = kNever, release_ns = kNever;
  const auto step = [&] {
    session.begin_step(0);
    const Clock::time_point begin = Clock::now();
    for (Block& block : blocks) block = session.allocate(4096);
    const Clock::time_point middle = Clock::now();
    for (Block& block : blocks) block.reset();
    const Clock::time_point end = Clock::now();
    session.end_step();
    allocate_ns = std::min(allocate_ns, Nanoseconds(middle - begin).count());
    release_ns = std::min(release_ns, Nanoseconds(end - middle).count());
  };
  for (int warm = 0; warm < 3; ++warm) step();
  allocate_ns = release_ns = kNever;
  for (auto _ : state) step();
  state.counters["allocate_ns"] = allocate_ns / static_cast<double>(blocks_alive);
  state.counters["release_ns"] = release_ns / static_cast<double>(blocks_alive);
}

// Measures in turns, so that changes of the clock rate and noisy neighbours affect both.
void planned_against_pool(benchmark::State& state) {
  const std::vector<Event> events = training_step(static_cast<std::size_t>(state.range(0)));
  std::vector<Block> blocks(blocks_of(events));
  SimulatedDevice device;
  Session session(device);
  BestFitPool pool(device);
  for (int step = 0; step < 3; ++step) {
    replay(session, events, blocks);
    replay(pool, events, blocks);
  }
  double planned_ns = 0, pool_ns = 0;
  for (auto _ : state) {
    planned_ns += nanoseconds_a_pair(session, events, blocks, 20);
    pool_ns += nanoseconds_a_pair(pool, events, blocks, 1);
  }
  const auto turns = static_cast<double>(state.iterations());
  state.counters["planned_ns"] = planned_ns / turns;
  state.counters["pool_ns"] = pool_ns / turns;
  state.counters["ratio"] = pool_ns / planned_ns;
}

constexpr std::size_t kSentences = 64, kLongest = 50;
constexpr int kSequenceSteps = 2000;
constexpr int kRepeatedBatches = 48;  // under per-shape, whose plans are for recurring batches
constexpr double kMiB = 1 << 20;

std::vector<Trace> upper_bound_traces(const SequenceProgram& program) {
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recording(pool);
  std::vector<Trace> traces;
  for (const SequenceBatch& batch : upper_bound_batches(kSentences, kLongest)) {
    program.step(recording, batch, 0);
    traces.push_back(recording.last_step());
  }
  return traces;
}

// Per-shape sees the same few batches again and again; the others see a new one each step.
std::vector<std::pair<SequenceBatch, ShapeKey>> sequence_batches(ShapePolicy policy) {
  std::mt19937_64 random(1);
  std::vector<std::pair<SequenceBatch, ShapeKey>> batches;
  for (int step = 0; step < kSequenceSteps; ++step) {
    if (policy == ShapePolicy::kPerShape && step >= kRepeatedBatches) {
      batches.push_back(batches[static_cast<std::size_t>(step % kRepeatedBatches)]);
    } else {
      batches.emplace_back(random_batch(random, kSentences, kLongest), batches.size());
    }
  }
  return batches;
}

// reserved: the most in the run, without its first step, as for the others. live: the most bytes
// alive in a step.
void sequences(benchmark::State& state) {
  const bool unrolled = state.range(0) != 0;
  const SequenceProgram program({.unrolled = unrolled});
  const auto policy = static_cast<ShapePolicy>(state.range(1));
  const Matching matching = unrolled ? Matching::kByTag : Matching::kByPosition;
  const auto batches = sequence_batches(policy);
  std::vector<Trace> longest;
  if (policy == ShapePolicy::kUpperBound) longest = upper_bound_traces(program);
  for (auto _ : state) {
    SimulatedDevice device;
    Session session(device, {.policy = policy, .matching = matching});
    if (!longest.empty()) session.adopt(longest);
    std::vector<std::uint64_t> replans;
    for (const auto& [batch, key] : batches) {
      program.step(session, batch, key);
      replans.push_back(session.session_statistics().replans);
    }
    const SessionStatistics figures = session.session_statistics();
    const auto count = [&](const char* name, double value) { state.counters[name] = value; };
    count("replans_first_100", static_cast<double>(replans[99]));
    count("replans_last_100", static_cast<double>(replans.back() - replans[replans.size() - 101]));
    count("replans", static_cast<double>(replans.back()));
    count("deviating_steps", static_cast<double>(figures.deviating_steps));
    count("device_allocations", static_cast<double>(figures.device_allocations_since_switch));
    count("fallback_MiB", static_cast<double>(figures.peak_fallback_bytes) / kMiB);
    count("arena_MiB", static_cast<double>(session.arena_bytes()) / kMiB);
    count("reserved_MiB", static_cast<double>(figures.peak_reserved_bytes_since_switch) / kMiB);
    count("live_MiB", static_cast<double>(session.statistics().peak_allocated_bytes) / kMiB);
    count("planning_ms", 1e3 * figures.planning_seconds);
    count("last_plan_ms", 1e3 * figures.last_planning_seconds);
  }
}

void sequences_pool(benchmark::State& state, const char* allocator) {
  const SequenceProgram program({.unrolled = state.range(0) != 0});
  const auto batches = sequence_batches(ShapePolicy::kGrow);
  for (auto _ : state) {
    SimulatedDevice device;
    const auto pool = make_allocator(allocator, device, {});
    for (const auto& [batch, key] : batches) program.step(*pool, batch, key);
    const Statistics figures = pool->statistics();
    state.counters["reserved_MiB"] = static_cast<double>(figures.peak_reserved_bytes) / kMiB;
    state.counters["device_allocations"] = static_cast<double>(figures.device_allocations);
  }
}

void compute(std::chrono::microseconds time) {
  for (const Clock::time_point end = Clock::now() + time; Clock::now() < end;) {
  }
}

// Unrolled, under grow; each step computes for five milliseconds.
void replanning(benchmark::State& state) {
  const SequenceProgram program({.unrolled = true});
  const auto batches = sequence_batches(ShapePolicy::kGrow);
  for (auto _ : state) {
    SimulatedDevice device;
    Session session(device, {.background = state.range(0) != 0});
    for (std::size_t step = 0; step < 200; ++step) {
      program.step(session, batches[step].first, 0);
      compute(std::chrono::milliseconds(5));
    }
    const SessionStatistics figures = session.session_statistics();
    state.counters["replans"] = static_cast<double>(figures.replans);
    state.counters["deviating_steps"] = static_cast<double>(figures.deviating_steps);
    state.counters["planning_ms"] = 1e3 * figures.planning_seconds;
    state.counters["stalled_ms"] = 1e3 * figures.stalled_seconds;
    state.counters["longest_stall_ms"] = 1e3 * figures.longest_stall_seconds;
  }
}

// resnet20, resnet50 and Inception-ResNet keep about 60, 170 and 800 activations.
BENCHMARK(request_and_release_floor)->Arg(60)->Arg(170)->Arg(800);
BENCHMARK(request_and_release_planned)->Arg(60)->Arg(170)->Arg(800);
BENCHMARK(request_and_release_pool)->Arg(60)->Arg(170)->Arg(800);
BENCHMARK(planned_apart)->Arg(256);
BENCHMARK(planned_against_pool)->Arg(60)->Arg(170)->Arg(800);
BENCHMARK(sequences)
    ->ArgNames({"unrolled", "policy"})
    ->ArgsProduct({{0, 1}, {0, 1, 2}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sequences_pool, best_fit_pool, "best-fit-pool")
    ->ArgName("unrolled")
    ->DenseRange(0, 1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sequences_pool, exact_pool, "exact-pool")
    ->ArgName("unrolled")
    ->DenseRange(0, 1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sequences_pool, caching, "caching")
    ->ArgName("unrolled")
    ->DenseRange(0, 1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sequences_pool, bfc, "bfc")
    ->ArgName("unrolled")
    ->DenseRange(0, 1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sequences_pool, network_wise, "network-wise")
    ->ArgName("unrolled")
    ->DenseRange(0, 1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(replanning)
    ->ArgName("background")
    ->DenseRange(0, 1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace skyline
