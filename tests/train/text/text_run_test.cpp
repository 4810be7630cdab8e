#include "train/text/text_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "framework/lanes/step_lanes.h"
#include "tests/train/images/small_training.h"
#include "tests/train/text/small_text_run.h"
#include "train/options/memory_options.h"
#include "train/run/dry_run.h"

namespace skyline {
namespace {

using namespace tests;
using testing::Each;
using testing::Gt;

constexpr int kGptSteps = 5;

struct GptBits {
  std::vector<float> losses;
  std::string parameters;
  bool operator==(const GptBits&) const = default;
};

GptBits gpt_bits(const MemoryOptions& memory, const StepOptions& step = {},
                 TextRunOptions options = small_gpt()) {
  if (step.fused_update) options.optimizer.clip = 0;
  options.shares.micro_batches = static_cast<std::size_t>(step.micro_batches);
  Context::Options context = context_options(step);
  context.seed = seeded().seed;
  TextRun run(memory, context, std::move(options), &small_sums());
  return {run_steps(run, kGptSteps), parameters_sha256(run)};
}

TEST(TextRunTest, EveryAllocatorMakesTheSameBits) {
  const GptBits expected = gpt_bits({.allocator = "network-wise"});
  EXPECT_NEAR(expected.losses.front(), std::log(small_sums().vocabulary), 0.1);
  for (const std::string& name : allocator_names()) {
    MemoryOptions memory{.allocator = name};
    memory.check = true;
    EXPECT_EQ(gpt_bits(memory), expected) << name;
  }
}

TEST(TextRunTest, OrdersAndRecomputedValuesChangeNoBit) {
  const GptBits expected = gpt_bits({});
  for (const char* const order : {"program", "early", "optimal"}) {
    for (const int recompute : {0, 3}) {
      for (const bool in_place : {true, false}) {
        const StepOptions step{.in_place = in_place, .recompute = recompute, .order = order};
        EXPECT_EQ(gpt_bits({.guard = true}, step), expected) << order << recompute << in_place;
      }
    }
  }
}

// Without clipping, which needs all gradients at once.
TEST(TextRunTest, FusedUpdatesChangeNoBit) {
  TextRunOptions options = small_gpt();
  options.optimizer.clip = 0;
  EXPECT_EQ(gpt_bits({}, {.fused_update = true}, options), gpt_bits({}, {}, options));
}

TEST(TextRunTest, MicroBatchesLearnFromAllTheirWindows) {
  const GptBits three = gpt_bits({}, {.micro_batches = 3});
  EXPECT_NE(three, gpt_bits({}));
  EXPECT_EQ(gpt_bits({.allocator = "network-wise"}, {.recompute = 3, .micro_batches = 3}), three);
}

class TextTrace : public ::testing::TestWithParam<std::tuple<Mode, bool, int>> {};

TEST_P(TextTrace, RecordedSimulatedAndDryStepsAreOne) {
  const auto [mode, in_place, recompute] = GetParam();
  const StepOptions step{.in_place = in_place, .recompute = recompute};
  Context::Options options = context_options(step);
  options.mode = mode;
  options.seed = seeded().seed;
  TextRun run({.allocator = "best-fit-pool"}, options, small_gpt({.record = true}), &small_sums());
  run.context.watch().record_graph = true;
  run_steps(run, 2);
  const Trace& recorded = run.memory.recording()->last_step();
  EXPECT_TRUE(recorded.same_requests(simulate(run.context.step_graph(), {.in_place = in_place})));
  DryRun dry(std::make_unique<TextRun>(dry_memory(), dry_context(context_options(step), mode),
                                       small_gpt()));
  const DryRunFacts facts = dry.foresee(4, mode);
  EXPECT_TRUE(recorded.same_requests(facts.trace));
  EXPECT_EQ(recorded.tags, facts.trace.tags);
  EXPECT_EQ(facts.resident_bytes, run.resident_bytes());
  EXPECT_EQ(run.memory.statistics().allocated_bytes, run.resident_bytes());
}

INSTANTIATE_TEST_SUITE_P(Steps, TextTrace,
                         ::testing::Values(std::tuple(Mode::kTraining, true, 0),
                                           std::tuple(Mode::kTraining, false, 0),
                                           std::tuple(Mode::kTraining, true, 3),
                                           std::tuple(Mode::kInference, true, 0)));

TEST(TextRunTest, LearnsSums) {
  TextRunOptions options = small_gpt();
  options.shape.dropout = 0;
  TextRun run({}, seeded(), options, &small_sums());
  const std::vector<float> losses = run_steps(run, 150, 1e-2f);
  EXPECT_LT(losses.back(), losses.front() - 1);
}

TEST(TextRunTest, AnEvaluationIsTheMeanOverFixedWindows) {
  TextRun run({}, seeded(), small_gpt(), &small_sums());
  run_steps(run, 2);
  const std::string before = parameters_sha256(run);
  std::size_t last = 0;
  const auto measured = run.evaluate(0, [&](std::size_t done, std::size_t all) {
    EXPECT_GT(done, last);
    last = done;
    EXPECT_EQ(all, windows_of(small_sums().validation(), kSmallLength));
  });
  const std::size_t windows = windows_of(small_sums().validation(), kSmallLength);
  EXPECT_EQ(last, windows);
  double sum = 0;
  for (std::size_t i = 0; i < windows; ++i) {
    run.take({windows_at(small_sums().validation(), kSmallLength, i, 1)});
    sum += run.inference_step();
  }
  const double loss = measured.metrics[0].second;
  EXPECT_NEAR(loss, sum / static_cast<double>(windows), 1e-5);
  EXPECT_DOUBLE_EQ(measured.metrics[1].second, std::exp(loss));
  EXPECT_DOUBLE_EQ(measured.metrics[2].second, std::log2(std::exp(1.0)) * loss);
  EXPECT_EQ(parameters_sha256(run), before);
}

Context::Options gpt_inference() {
  Context::Options options = seeded();
  options.mode = Mode::kInference;
  return options;
}

std::vector<std::int32_t> first_words(std::size_t count) {
  return {small_sums().words.begin(), small_sums().words.begin() + static_cast<long>(count)};
}

// Later words change no earlier word's logits.
TEST(TextRunTest, TheNextWordFollowsFromThoseBeforeAlone) {
  TextRun run({}, gpt_inference(), small_gpt());
  const std::vector<std::int32_t> words = first_words(kSmallLength);
  const Tensor z = run.features(words, 1);
  std::vector<float> all(kSmallLength * small_sums().vocabulary);
  run.context.download(run.model.logits(run.context, z), all.data());
  for (std::size_t length = 1; length <= kSmallLength; ++length) {
    const std::vector<float> next = run.next_word(std::span(words).first(length));
    for (std::size_t word = 0; word < next.size(); ++word) {
      ASSERT_NEAR(next[word], all[(length - 1) * next.size() + word], 1e-5) << length;
    }
  }
}

std::vector<std::uint16_t> generated_words(const MemoryOptions& memory,
                                           const SamplerOptions& options, bool plans = false) {
  TextRunOptions run_options = small_gpt();
  run_options.generates = true;
  TextRun run(memory, gpt_inference(), run_options);
  if (plans) {
    DryRun dry(std::make_unique<TextRun>(
        dry_memory(), dry_context(gpt_inference(), Mode::kInference), run_options));
    run.memory.session()->adopt(dry.foresee(1, Mode::kInference).trace,
                                {kSmallLength, StepKind::kInference});
  }
  const std::vector<std::uint16_t> prompt(small_sums().words.begin(),
                                          small_sums().words.begin() + 3);
  const auto words = run.generate(prompt, 40, options);
  if (plans) {  // one plan serves all lengths
    EXPECT_EQ(run.memory.session()->session_statistics().deviations, 0u);
    EXPECT_EQ(run.memory.session()->session_statistics().replans, 0u);
  }
  return words;
}

TEST(TextGenerator, TheSameSeedWritesTheSameTextUnderEveryAllocator) {
  const auto expected = generated_words({.allocator = "network-wise"}, {.seed = 4});
  EXPECT_EQ(expected.size(), 40u);
  EXPECT_EQ(generated_words({.allocator = "best-fit-pool"}, {.seed = 4}), expected);
  EXPECT_EQ(generated_words({.allocator = "planned", .policy = ShapePolicy::kUpperBound},
                            {.seed = 4}, true),
            expected);
  EXPECT_NE(generated_words({}, {.seed = 5}), expected);
}

TEST(TextGenerator, NoTemperatureTakesTheLikeliestWord) {
  const std::vector<float> logits = {1, 3, 3, 2};
  for (std::uint64_t number = 0; number < 20; ++number) {
    EXPECT_EQ(sampled_word(logits, {.temperature = 0}, number), 1);
    EXPECT_EQ(sampled_word(logits, {.top_k = 1}, number), 1);
  }
}

TEST(TextGenerator, DrawsWordsAsOftenAsTheirSoftmaxSays) {
  const std::vector<float> logits = {0, 1, -1, 2};
  constexpr int kDraws = 20'000;
  for (const auto& [temperature, top_k] : {std::pair(1.0, 0), {0.5, 0}, {1.0, 2}}) {
    std::vector<double> expected, counts(logits.size());
    double sum = 0;
    for (const float logit : logits) {
      const bool likely = top_k == 0 || logit >= 1;
      expected.push_back(likely ? std::exp(logit / temperature) : 0);
      sum += expected.back();
    }
    for (int i = 0; i < kDraws; ++i) {
      ++counts[sampled_word(logits, {.temperature = temperature, .top_k = top_k},
                            static_cast<std::uint64_t>(i))];
    }
    for (std::size_t word = 0; word < logits.size(); ++word) {
      // Four standard errors of a share.
      EXPECT_NEAR(counts[word] / kDraws, expected[word] / sum, 4 * 0.5 / std::sqrt(kDraws));
    }
  }
}

}  // namespace
}  // namespace skyline
