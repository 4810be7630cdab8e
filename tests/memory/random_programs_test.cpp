// Programs that deviate from their plan in every way never share a byte, and are hot again as soon
// as they stop. Every hand-out is checked against all live blocks; a share of the programs runs on
// memory, where the contents are verified too.
#include <gtest/gtest.h>

#include <iterator>

#include "memory/adaptors/checking_adaptor.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"
#include "memory/session.h"
#include "tests/memory/device/refusing_device.h"
#include "tests/memory/random_program.h"

namespace skyline {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::uint64_t kSimulatedSeeds = 12000;
constexpr std::uint64_t kMemorySeeds = 1500;
constexpr int kWildSteps = 12;
constexpr int kHotSteps = 5;

SessionOptions options_of(std::uint64_t seed) {
  SessionOptions options;
  options.warmup_steps = 1 + static_cast<int>(seed % 3);
  options.policy = seed % 2 == 0 ? ShapePolicy::kGrow : ShapePolicy::kPerShape;
  if (seed % 5 == 0) options.fallback_limit_bytes = 30000;
  if (seed % 7 == 0) options.max_shapes = 2;
  if (seed % 16 != 0) options.planner = "best-fit";
  return options;
}

// After so many steps a program that repeats itself is hot: the warm-up; a step that shows what
// changed; one in which its survivors are still held; one that moves off
// blocks that stay. Each
// refusal by the fallback's limit ends a step, and shows one request.
int steps_to_converge(const SessionOptions& options) {
  const bool limited = options.fallback_limit_bytes < kMiB;
  return options.warmup_steps + 4 + (limited ? 60 : 0);
}

// Some kinds of deviation, half of the time one alone: a mixture hides what each does.
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

// That the programs do what they are for.
struct Figures {
  std::uint64_t deviations = 0, replans = 0, failed_replans = 0, abandoned = 0, refused = 0,
                planned = 0, fallback = 0;

  void add(const Session& session) {
    const SessionStatistics figures = session.session_statistics();
    deviations += figures.deviations;
    replans += figures.replans;
    failed_replans += figures.failed_replans;
    abandoned += figures.abandoned_steps;
    refused += session.statistics().out_of_memory;
    planned += figures.planned_requests;
    fallback += figures.fallback_requests;
  }
};

void run_wild_steps(RandomProgram& program, RefusingDevice& device) {
  const Mischief mischief = mischief_of(program);
  for (int step = 0; step < kWildSteps; ++step) {
    program.toggle_resident(mischief);
    if (program.chance(mischief.refused)) device.refuse_from(program.below(5));
    program.run_step(program.random_key(), mischief);
    device.serve_all();
  }
}

void expect_convergence(RandomProgram& program, const Session& session,
                        const SessionOptions& options) {
  const ShapeKey key = program.random_key();
  std::uint64_t deviations = 0;
  for (int step = 0; step <= steps_to_converge(options) + kHotSteps; ++step) {
    const bool finished = program.run_step(key, {});
    if (step <= steps_to_converge(options)) {  // what step - 1 did is known now
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
    RandomProgram program(checked, seed, device.has_memory(), 1 + seed % 4);
    run_wild_steps(program, device);
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

void expect_all_happened(const Figures& figures) {
  EXPECT_GT(figures.deviations, 1000u);
  EXPECT_GT(figures.replans, 1000u);
  EXPECT_GT(figures.failed_replans, 10u);
  EXPECT_GT(figures.abandoned, 100u);
  EXPECT_GT(figures.refused, 100u);
  EXPECT_GT(figures.fallback, 1000u);
  EXPECT_GT(figures.planned, 100000u);
}

TEST(RandomPrograms, NeverShareAnAddress) {
  Figures figures;
  for (std::uint64_t seed = 0; seed < kSimulatedSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedDevice device;
    run_program(device, seed, figures);
  }
  expect_all_happened(figures);
}

TEST(RandomPrograms, NeverShareAByteOfMemory) {
  Figures figures;
  for (std::uint64_t seed = 0; seed < kMemorySeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CpuDevice device(256 * kMiB);
    run_program(device, seed, figures);
  }
  expect_all_happened(figures);
}

}  // namespace
}  // namespace skyline
