// Sessions with a sequence network, each of whose batches has other lengths.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"
#include "memory/validator.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/session/sequence_program.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

constexpr std::size_t kSentences = 32, kLongest = 50;
constexpr SequenceProgram::Sizes kPacked{.unrolled = false}, kUnrolled{.unrolled = true};

Trace trace_of(const SequenceProgram& program, const SequenceBatch& batch) {
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recording(pool);
  program.step(recording, batch, 0);
  return recording.last_step();
}

std::vector<Trace> upper_bound_traces(const SequenceProgram& program, std::size_t sentences,
                                      std::size_t longest) {
  std::vector<Trace> traces;
  for (const SequenceBatch& batch : upper_bound_batches(sentences, longest)) {
    traces.push_back(trace_of(program, batch));
  }
  return traces;
}

// Every hand-out is checked against all live blocks.
class Training {
 public:
  Training(const SequenceProgram& program, ShapePolicy policy,
           Matching matching = Matching::kByPosition)
      : program_(program),
        session_(device_, {.policy = policy, .planner = "best-fit", .matching = matching}) {}

  void step(const SequenceBatch& batch, ShapeKey key = 0) { program_.step(checked_, batch, key); }
  // Returns the re-plans during `steps` random batches.
  std::uint64_t replans_in(std::uint64_t steps) {
    const std::uint64_t before = figures().replans;
    for (std::uint64_t i = 0; i < steps; ++i) step(random_batch(random_, kSentences, kLongest));
    return figures().replans - before;
  }
  SessionStatistics figures() const { return session_.session_statistics(); }
  Session& session() { return session_; }

 private:
  const SequenceProgram& program_;
  SimulatedDevice device_;
  Session session_;
  CheckingAdaptor checked_{session_};
  std::mt19937_64 random_{7};
};

class SessionSequences : public testing::TestWithParam<bool> {
 protected:
  SequenceProgram program_{GetParam() ? kUnrolled : kPacked};
};

TEST_P(SessionSequences, GrowPlansAnewMoreAndMoreRarely) {
  Training run(program_, ShapePolicy::kGrow);
  const std::uint64_t steps = std::max<std::uint64_t>(effort(2000), 400);
  const std::uint64_t first = run.replans_in(steps / 4);
  run.replans_in(steps / 2);
  const std::uint64_t last = run.replans_in(steps / 4);
  RecordProperty("first_quarter", static_cast<int>(first));
  RecordProperty("last_quarter", static_cast<int>(last));
  EXPECT_LT(2 * last, first);
  // No batch has the maximum of every request, so the plan is larger than any of them needs.
  const auto most = static_cast<double>(run.session().statistics().peak_allocated_bytes);
  EXPECT_LT(static_cast<double>(run.session().plan().peak), (GetParam() ? 1.4 : 1.1) * most);
}

// A step that leaves its plan takes the arena's free bytes first, so nothing is paid twice.
TEST_P(SessionSequences, GrowTakesNoMoreThanThePool) {
  Training run(program_, ShapePolicy::kGrow, GetParam() ? Matching::kByTag : Matching::kByPosition);
  SimulatedDevice device;
  BestFitPool pool(device);
  std::mt19937_64 random{7};
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(effort(1000), 100); ++i) {
    const SequenceBatch batch = random_batch(random, kSentences, kLongest);
    run.step(batch);
    program_.step(pool, batch, 0);
  }
  EXPECT_LE(run.figures().peak_reserved_bytes_since_switch, pool.statistics().peak_reserved_bytes);
}

TEST_P(SessionSequences, PerShapeNeverPlansARepeatedShapeAnew) {
  Training run(program_, ShapePolicy::kPerShape);
  std::mt19937_64 random(3);
  std::vector<SequenceBatch> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(random_batch(random, kSentences, kLongest));
  for (std::uint64_t key = 0; key < batches.size(); ++key) run.step(batches[key], key);
  run.step(batches[0], 0);  // the last recording is planned before it
  const SessionStatistics before = run.figures();
  EXPECT_EQ(before.replans, batches.size() - 1);
  const std::uint64_t steps = effort(400);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const std::uint64_t key = random() % batches.size();
    run.step(batches[key], key);
  }
  EXPECT_EQ(run.figures().replans, before.replans);
  EXPECT_EQ(run.figures().deviations, 0u);
  EXPECT_EQ(run.figures().planned_steps, before.planned_steps + steps);
}

TEST_P(SessionSequences, UpperBoundServesEveryBatchInAnyOrder) {
  Training run(program_, ShapePolicy::kUpperBound);
  run.session().adopt(upper_bound_traces(program_, kSentences, kLongest));
  EXPECT_EQ(run.replans_in(effort(500)), 0u);
  run.session().begin_step(0);
  EXPECT_EQ(run.figures().deviations, 0u);
  EXPECT_EQ(run.figures().device_allocations_since_switch, 0u);
  EXPECT_EQ(run.figures().fallback_requests, 0u);
  EXPECT_EQ(run.figures().pool_calls, 0u);
  // The plan of all batches needs no more than the longest batch has alive.
  const SequenceBatch longest = upper_bound_batches(kSentences, kLongest).front();
  const std::uint64_t live_bytes = lower_bound_bytes(trace_of(program_, longest), kAlignmentBytes);
  EXPECT_LE(static_cast<double>(run.session().plan().peak), 1.01 * static_cast<double>(live_bytes));
}

// Every pair of lengths, with equal and with random sentence lengths on each side.
TEST_P(SessionSequences, UpperBoundServesEveryPairOfLengths) {
  constexpr std::size_t kFew = 4, kShort = 7;
  Training run(program_, ShapePolicy::kUpperBound);
  run.session().adopt(upper_bound_traces(program_, kFew, kShort));
  std::mt19937_64 random(11);
  const auto sentences = [&](std::size_t longest, bool alike) {
    std::vector<std::size_t> lengths(1 + random() % kFew, longest);
    for (std::size_t i = 1; i < lengths.size() && !alike; ++i) {
      lengths[i] = 1 + random() % lengths[i - 1];
    }
    return lengths;
  };
  for (std::size_t source = 1; source <= kShort; ++source) {
    for (std::size_t target = 1; target <= kShort; ++target) {
      for (int i = 0; i < 5; ++i) run.step({sentences(source, i < 1), sentences(target, i < 2)});
    }
  }
  run.session().begin_step(0);
  EXPECT_EQ(run.figures().deviations, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, SessionSequences, testing::Bool(),
                         [](const auto& side) { return side.param ? "Unrolled" : "Packed"; });

// All batches make the same number of requests, so the plan of the longest serves all.
TEST(SessionSequencesPacked, TheLongestBatchIsEnough) {
  const SequenceProgram program(kPacked);
  Training run(program, ShapePolicy::kUpperBound);
  run.session().adopt(trace_of(program, upper_bound_batches(kSentences, kLongest).front()));
  EXPECT_EQ(run.replans_in(effort(500)), 0u);
  run.session().begin_step(0);
  EXPECT_EQ(run.figures().deviations, 0u);
}

// Loops of other lengths share one plan by tag, which holds no more than some step had alive. With
// up to an eighth more, these runs took 3 to 17 % more than the pool.
TEST(SessionSequencesUnrolled, NoPlanOfGrowHoldsMoreThanAStepHadAlive) {
  struct Batches {
    std::size_t units, layers;
  };
  for (const Batches& kind : {Batches{32, 2}, {32, 3}, {128, 1}, {128, 2}}) {
    const SequenceProgram program({.units = kind.units, .layers = kind.layers, .unrolled = true});
    Training run(program, ShapePolicy::kGrow, Matching::kByTag);
    SimulatedDevice device;
    BestFitPool pool(device);
    std::mt19937_64 random{8};
    for (int i = 0; i < 100; ++i) {
      const SequenceBatch batch = random_batch(random, 16, 20);
      run.step(batch);
      program.step(pool, batch, 0);
    }
    const Statistics taken = run.session().statistics();
    EXPECT_LE(run.session().plan().lower_bound, taken.peak_allocated_bytes);
    EXPECT_LE(taken.peak_reserved_bytes, pool.statistics().peak_reserved_bytes)
        << kind.units << " units, " << kind.layers << " layers";
  }
}

// Two steps that begin alike. As ever, the left block must lie at one end of 6 MiB, beside 4, and
// the right one at the other, so that the middle one has no other place than between them.
void step_of_two_endings(Allocator& allocator, bool as_ever) {
  allocator.begin_step(0);
  allocator.allocate(6 * kMiB, {.op = "all"});
  Block left = allocator.allocate(2 * kMiB, {.op = "left"});
  allocator.allocate(4 * kMiB, {.op = "beside_left"});
  Block right = allocator.allocate(2 * kMiB, {.op = "right"});
  Block middle = allocator.allocate(2 * kMiB, {.op = "middle"});
  left.reset();
  if (as_ever) {
    middle.reset();
    allocator.allocate(4 * kMiB, {.op = "beside_right"});
  } else {
    right.reset();
    const Block one = allocator.allocate(4 * kMiB, {.op = "one"});
    const Block other = allocator.allocate(4 * kMiB, {.op = "other"});
  }
  allocator.end_step();
}

// Counts the plans of the step as ever within 6 MiB, in whole MiB, and those of them that have the
// middle block behind the first 2 MiB.
std::pair<int, int> plans_within_6(const Trace& trace) {
  Plan plan{.offsets = std::vector<std::uint64_t>(trace.size()),
            .peak = 6 * kMiB,
            .lower_bound = 6 * kMiB,
            .proved_bound = 6 * kMiB};
  int plans = 0, middle_at_2 = 0;
  for (std::uint64_t code = 0; code < 1 * 5 * 3 * 5 * 5 * 3; ++code) {
    std::uint64_t rest = code;
    for (std::size_t block = 0; block < trace.size(); ++block) {
      const std::uint64_t places = 7 - trace.blocks[block].bytes / kMiB;
      plan.offsets[block] = rest % places * kMiB;
      rest /= places;
    }
    if (!validate(trace, plan).valid) continue;
    ++plans;
    if (plan.offsets[4] == 2 * kMiB) ++middle_at_2;
  }
  return {plans, middle_at_2};
}

// Whoever serves the step as ever within 6 MiB has handed out the middle block at 2 MiB before the
// step can end otherwise. 4 MiB do not fit below it, so that twice 4 MiB end at 12 MiB at least.
// The pool takes 10 MiB for both steps.
TEST(SessionSequencesUnrolled, NoSessionIsBelowThePoolInEveryProgram) {
  SimulatedDevice device, pool_device;
  Session session(device, {.matching = Matching::kByTag});
  RecordingAdaptor recording(session);
  BestFitPool pool(pool_device);
  for (int i = 0; i < 3; ++i) {
    step_of_two_endings(recording, true);
    step_of_two_endings(pool, true);
  }
  EXPECT_EQ(session.arena_bytes(), 6 * kMiB);
  EXPECT_EQ(plans_within_6(recording.last_step()), (std::pair{2, 2}));
  step_of_two_endings(session, false);
  step_of_two_endings(pool, false);
  EXPECT_EQ(session.statistics().peak_reserved_bytes, 12 * kMiB);
  EXPECT_EQ(pool.statistics().peak_reserved_bytes, 10 * kMiB);
}

}  // namespace
}  // namespace skyline
