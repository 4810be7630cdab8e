// Memory of translation steps with varying shapes.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "memory/step_graph.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/translation/small_translation.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

using namespace skyline::tests;

// Reports the first request that differs.
void expect_same(const Trace& trace, const Trace& recorded) {
  ASSERT_EQ(trace.size(), recorded.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock &one = trace.blocks[i], &other = recorded.blocks[i];
    ASSERT_TRUE(one == other) << "request " << i << ", " << recorded.tags[i].op << " of "
                              << recorded.tags[i].layer << ": [" << one.lower << ", " << one.upper
                              << ") of " << one.bytes << ", recorded [" << other.lower << ", "
                              << other.upper << ") of " << other.bytes;
  }
}

class TranslationMemory : public ::testing::TestWithParam<bool> {
 protected:
  Context::Options seeded() const { return {.seed = 11}; }
  Seq2SeqShape shape() const { return small_seq2seq(data_, GetParam()); }

  TranslationData data_ = small_text();
};

TEST_P(TranslationMemory, LossesAndParametersAreBitEqualUnderEveryAllocatorAndPolicy) {
  const auto batches = small_pair_batches(data_, 6);
  TranslationRun first({.allocator = "network-wise"}, seeded(), small_run(shape()));
  const std::vector<float> losses = run_steps(first, batches);
  for (const std::string& allocator : allocator_names()) {
    for (const std::string& policy : policy_names()) {
      if (allocator != kPlannedAllocator && policy != policy_names().front()) continue;
      SCOPED_TRACE(allocator + ", " + policy);
      TranslationRun other(
          {.allocator = allocator, .policy = policy_of(policy), .guard = true, .check = true},
          seeded(), small_run(shape()));
      EXPECT_EQ(run_steps(other, batches), losses);
      EXPECT_EQ(parameters_sha256(other), parameters_sha256(first));
    }
  }
}

TEST_P(TranslationMemory, TheDryRunRequestsWhatTheStepRequests) {
  for (const PairBatch& batch : small_pair_batches(data_, 3)) {
    TranslationRun real({.allocator = "best-fit-pool"}, {.seed = 11},
                        small_run(shape(), {.record = true}));
    real.context.watch().record_graph = true;
    run_steps(real, {batch});
    const Trace recorded = real.memory.recording()->last_step();
    const Trace predicted = TranslationDryRun({}, small_run(shape())).trace({batch});
    expect_same(predicted, recorded);
    expect_same(simulate(real.context.step_graph()), recorded);
  }
}

TEST_P(TranslationMemory, PerShapePlansEachRepeatedShapeOnce) {
  const std::vector<PairBatch> different = small_pair_batches(data_, 3);
  TranslationRun experiment({.allocator = std::string(kPlannedAllocator),
                             .policy = ShapePolicy::kPerShape,
                             .check = true},
                            seeded(), small_run(shape()));
  const Session& session = *experiment.memory.session();
  for (const std::size_t batch : {0, 1, 2, 0, 2, 1, 1, 0, 2, 2}) {
    run_steps(experiment, {different[batch]});
    session.wait_for_plan();  // no recording while its plan is being made
  }
  const SessionStatistics statistics = session.session_statistics();
  EXPECT_EQ(statistics.replans, 2u) << "of the second shape and the third";
  EXPECT_EQ(statistics.planned_steps, 7u);
  EXPECT_EQ(statistics.deviations, 0u);
}

std::string input_form(const ::testing::TestParamInfo<bool>& info) {
  return info.param ? "unrolled" : "packed";
}
INSTANTIATE_TEST_SUITE_P(Lstm, TranslationMemory, ::testing::Bool(), input_form);

// The plan of the longest batch serves all others in any order, because packed batches all make the
// same number of requests.
TEST(TranslationMemoryPacked, UpperBoundNeverDeviatesAndNeverAsksTheDevice) {
  const TranslationData data = small_text();
  const std::size_t size = 6;
  std::vector<std::int32_t> source, target;
  for (std::size_t i = 0; i < data.train.source.size(); ++i) {
    source.push_back(static_cast<std::int32_t>(data.train.source[i].size()));
    target.push_back(static_cast<std::int32_t>(data.train.target[i].size()));
  }
  std::ranges::sort(source, std::greater());
  std::ranges::sort(target, std::greater());
  const PairBatch longest =
      batch_of_lengths(std::span(source).first(size), std::span(target).first(size));
  TranslationRun experiment({.allocator = std::string(kPlannedAllocator),
                             .policy = ShapePolicy::kUpperBound,
                             .check = true},
                            {.seed = 11}, small_run(small_seq2seq(data)));
  Session& session = *experiment.memory.session();
  session.adopt(TranslationDryRun({}, small_run(small_seq2seq(data))).trace({longest}));
  const auto before = experiment.memory.statistics().device_allocations;
  run_steps(experiment, small_pair_batches(data, effort(30) + 10, size));
  EXPECT_EQ(session.session_statistics().deviations, 0u);
  EXPECT_EQ(experiment.memory.statistics().device_allocations, before);
}

// One translation of 100 words after the other, as PGMO's inference runs them.
class Translations : public ::testing::Test {
 protected:
  TranslationRunOptions options(std::int64_t words) const {
    TranslationRunOptions options = small_run(small_seq2seq(data_));
    options.translate_words = words;
    return options;
  }

  TranslationData data_ = small_text();
};

// The number depends on which kernels of the processor ask for a workspace.
TEST_F(Translations, OfAsManyWordsMakeAsManyRequestsWhateverTheSentence) {
  TranslationDryRun dry({.mode = Mode::kInference}, options(100));
  std::set<std::size_t> requests;
  for (const PairBatch& batch : small_pair_batches(data_, 3, 1)) {
    requests.insert(dry.trace({batch}).size());
  }
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_GE(*requests.begin(), 707u);
}

TEST_F(Translations, AreTheSameUnderEveryAllocatorAndWithinThePlanOfTheLongest) {
  const std::vector<PairBatch> batches = small_pair_batches(data_, 6, 2);
  const Context::Options context{.mode = Mode::kInference, .seed = 11};
  TranslationRun pool({.allocator = "best-fit-pool"}, context, options(9));
  TranslationRun planned({.allocator = std::string(kPlannedAllocator),
                          .policy = ShapePolicy::kUpperBound,
                          .check = true},
                         context, options(9));
  TranslationDryRun dry(context, options(9));
  std::vector<Trace> traces;
  for (const PairBatch& batch : batches) traces.push_back(dry.trace({batch}));
  planned.memory.session()->adopt(traces, {0, planned.step_kind()});
  const auto before = planned.memory.statistics().device_allocations;
  EXPECT_EQ(run_steps(planned, batches), run_steps(pool, batches));
  EXPECT_EQ(planned.memory.session()->session_statistics().deviations, 0u);
  EXPECT_EQ(planned.memory.statistics().device_allocations, before);
}

TEST(TranslationStep, PackedAndUnrolledAgreeToRounding) {
  const TranslationData data = small_text();
  const auto batches = small_pair_batches(data, 3);
  Seq2SeqShape packed = small_seq2seq(data), unrolled = small_seq2seq(data, true);
  packed.dropout = unrolled.dropout = 0;
  TranslationRun one({}, {.seed = 11}, small_run(packed)),
      other({}, {.seed = 11}, small_run(unrolled));
  const auto losses = run_steps(one, batches), others = run_steps(other, batches);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], others[i], 1e-3);
}

}  // namespace
}  // namespace skyline
