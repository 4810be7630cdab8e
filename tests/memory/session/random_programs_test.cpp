// Programs that deviate from their plan in every way never share a byte, and are hot again soon
// after they stop deviating. Every hand-out is checked against all live blocks; some programs run
// on real memory and verify the contents, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"
#include "tests/memory/device/refusing_device.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/session/random_program.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

// Numbers of programs. Those on real memory follow those on a simulated device, so no seed is used
// twice. 1,500 are enough for every kind of event.
const std::uint64_t kSimulatedPrograms = cases(3000, 12000);
constexpr std::uint64_t kMemoryPrograms = 1500;
constexpr std::uint64_t kServedPrograms = 500;
constexpr int kWildSteps = 12;
constexpr int kHotSteps = 5;

SessionOptions options_of(std::uint64_t seed) {
  SessionOptions options;
  options.warmup_steps = 1 + static_cast<int>(seed % 3);
  constexpr ShapePolicy kPolicies[] = {ShapePolicy::kGrow, ShapePolicy::kPerShape,
                                       ShapePolicy::kUpperBound};
  options.policy = kPolicies[seed % 3];
  options.background = seed % 4 == 1;
  if (seed % 11 == 0) options.matching = Matching::kByTag;
  if (seed % 5 == 0) options.fallback_limit_bytes = 30000;
  if (seed % 7 == 0) options.max_shapes = 2;
  if (seed % 16 != 0) options.planner = "best-fit";
  return options;
}

// Returns after how many steps a program that repeats itself is hot: the warm-up; a step that shows
// that requests match by tag; one that shows what changed; one in which its survivors are still
// held; one that moves off blocks that stay. Each refusal by the fallback's limit ends a step and
// shows one request. In the background each plan comes a step later.
int steps_to_converge(const SessionOptions& options) {
  const bool limited = options.fallback_limit_bytes < kMiB;
  const int plans = 5 + (limited ? 60 : 0);
  return options.warmup_steps + plans * (*options.background ? 2 : 1);
}

// Returns the trace of each shape's undisturbed step.
std::vector<Trace> habits_of(std::uint64_t seed, std::size_t shapes) {
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recording(pool);
  RandomProgram program(recording, seed, /*has_memory=*/false, shapes);
  std::vector<Trace> habits;
  for (std::uint64_t key = 0; key < shapes; ++key) {
    program.run_step(key, {});
    habits.push_back(recording.last_step());
  }
  return habits;
}

// Chooses some kinds of deviation, half of the time a single one: a mixture hides what each does.
Mischief mischief_of(RandomProgram& program) {
  Mischief mischief;
  unsigned* const kinds[] = {&mischief.more,     &mischief.fewer,       &mischief.larger,
                             &mischief.smaller,  &mischief.swapped,     &mischief.longer,
                             &mischief.outlives, &mischief.interrupted, &mischief.resident,
                             &mischief.cut,      &mischief.refused};
  const std::size_t alone = program.below(2 * std::size(kinds));
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    const bool chosen = alone < std::size(kinds) ? kind == alone : program.chance(50);
    if (chosen) *kinds[kind] = 2 + static_cast<unsigned>(program.below(30));
  }
  return mischief;
}

// Shows that the programs caused what they test.
struct Figures {
  std::uint64_t deviations = 0, replans = 0, failed_replans = 0, abandoned = 0, refused = 0,
                planned = 0, fallback = 0, background = 0;

  void add(const Session& session) {
    const SessionStatistics figures = session.session_statistics();
    deviations += figures.deviations;
    replans += figures.replans;
    failed_replans += figures.failed_replans;
    abandoned += figures.abandoned_steps;
    refused += session.statistics().out_of_memory;
    planned += figures.planned_requests;
    fallback += figures.fallback_requests;
    background += figures.background_plans;
  }
};

void run_wild_steps(RandomProgram& program, RefusingDevice& device, const Session& session) {
  const Mischief mischief = mischief_of(program);
  for (int step = 0; step < kWildSteps; ++step) {
    program.toggle_resident(mischief);
    if (program.chance(50)) session.wait_for_plan();
    if (program.chance(mischief.refused)) device.refuse_from(program.below(5));
    program.run_step(program.random_key(), mischief);
    device.serve_all();
  }
}

void expect_convergence(RandomProgram& program, const Session& session,
                        const SessionOptions& options) {
  const std::uint64_t key = program.random_key();
  std::uint64_t deviations = 0;
  for (int step = 0; step <= steps_to_converge(options) + kHotSteps; ++step) {
    session.wait_for_plan();
    const bool finished = program.run_step(key, {});
    if (step <= steps_to_converge(options)) {  // step - 1 has been learned from
      deviations = session.session_statistics().deviations;
    } else {
      ASSERT_TRUE(finished) << "calm step " << step;
      ASSERT_EQ(session.session_statistics().deviations, deviations) << "calm step " << step;
      ASSERT_EQ(session.state(), Session::State::kPlanned);
    }
  }
}

void run_program(Device& upstream, std::uint64_t seed, Figures& figures) {
  RefusingDevice device(upstream);
  const SessionOptions options = options_of(seed);
  {
    Session session(device, options);
    CheckingAdaptor checked(session);
    const std::size_t shapes = 1 + seed % 4;
    RandomProgram program(checked, seed, device.has_memory(), shapes);
    if (options.policy == ShapePolicy::kUpperBound) session.adopt(habits_of(seed, shapes));
    run_wild_steps(program, device, session);
    expect_convergence(program, session, options);
    program.free_all();
    const Statistics statistics = session.statistics();
    EXPECT_EQ(statistics.requested_bytes, 0u);
    EXPECT_EQ(statistics.allocated_bytes, 0u);
    EXPECT_EQ(statistics.requests, statistics.releases);
    EXPECT_EQ(statistics.reserved_bytes, device.statistics().reserved_bytes);
    EXPECT_EQ(statistics.peak_reserved_bytes, device.statistics().peak_reserved_bytes);
    EXPECT_EQ(statistics.device_allocations, device.statistics().allocations);
    figures.add(session);
  }
  EXPECT_EQ(upstream.statistics().reserved_bytes, 0u);
}

auto seeds_from(std::uint64_t first, std::uint64_t count) {
  return std::views::iota(first_seed() + first, first_seed() + first + count);
}

void expect_all_happened(const Figures& figures) {
  EXPECT_GT(figures.deviations, 1000u);
  EXPECT_GT(figures.replans, 1000u);
  EXPECT_GT(figures.failed_replans, 10u);
  EXPECT_GT(figures.abandoned, 100u);
  EXPECT_GT(figures.refused, 100u);
  EXPECT_GT(figures.fallback, 1000u);
  EXPECT_GT(figures.planned, 100000u);
  EXPECT_GT(figures.background, 300u);
}

// Shapes of different numbers of requests, in any order, each as large as planned or smaller.
TEST(RandomPrograms, AreServedByAPlanForAllOfTheirShapes) {
  for (const std::uint64_t seed : seeds_from(0, kServedPrograms)) {
    if (testing::Test::HasFailure()) return;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedDevice device;
    const std::size_t shapes = 1 + seed % 4;
    Session session(device, {.policy = ShapePolicy::kUpperBound, .planner = "best-fit"});
    session.adopt(habits_of(seed, shapes));
    CheckingAdaptor checked(session);
    RandomProgram program(checked, seed, /*has_memory=*/false, shapes);
    for (int step = 0; step < kWildSteps; ++step) {
      program.run_step(program.random_key(), {.smaller = seed % 2 == 0 ? 30u : 0u});
    }
    session.begin_step(0);
    EXPECT_EQ(session.session_statistics().deviations, 0u);
    EXPECT_EQ(session.session_statistics().device_allocations_since_switch, 0u);
  }
}

TEST(RandomPrograms, NeverShareAnAddress) {
  Figures figures;
  for (const std::uint64_t seed :
       seeds_from(0, std::max(effort(kSimulatedPrograms), kMemoryPrograms))) {
    if (testing::Test::HasFailure()) return;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedDevice device;
    run_program(device, seed, figures);
  }
  expect_all_happened(figures);
}

TEST(RandomPrograms, NeverShareAByteOfMemory) {
  Figures figures;
  for (const std::uint64_t seed : seeds_from(kSimulatedPrograms, kMemoryPrograms)) {
    if (testing::Test::HasFailure()) return;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CpuDevice device(256 * kMiB);
    run_program(device, seed, figures);
  }
  expect_all_happened(figures);
}

}  // namespace
}  // namespace skyline
