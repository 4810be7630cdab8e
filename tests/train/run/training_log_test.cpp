#include "train/run/training_log.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/train/decided_run.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using namespace tests;

using Json = nlohmann::ordered_json;

// A text run, whose steps have more figures than those of images. No step is executed.
class TrainingLogTest : public ::testing::Test {
 protected:
  TrainingLogTest() {
    TrainOptions options;
    options.model = "seq2seq";
    options.batch_size = 4;
    options.threads = 1;
    options.text.pairs = options.text.val_pairs = 8;
    options.text.units = 4;
    options = resolved(options);
    decided_ = decided_workload(options, {}, console_);
    run_ = tests::run_on(decided_, options.memory);
  }
  static TrainingLog log() {
    return TrainingLog({.allocator = "planned",
                        .lengths_name = "words",
                        .lengths = {"source", "target"},
                        .metrics = {{"bleu", "BLEU"}, {"loss", "test", MetricKind::kLoss}}});
  }
  static LoggedStep step(std::int64_t number) {
    const auto length = static_cast<std::uint64_t>(1 + number * 7919 % 50);
    return {.number = number,
            .epoch = 1,
            .loss = 1.0 / static_cast<double>(number),
            .seconds = 1e-3 * static_cast<double>(number),
            .batch = {.sentences = 4, .words = 9, .lengths = {{"source", length}, {"target", 3}}}};
  }

  std::ostringstream messages_;
  Console console_{messages_, {}};
  DecidedWorkload decided_;
  std::unique_ptr<ModelRun> run_;
};

TEST_F(TrainingLogTest, RestoresItsCurvesFromItsLines) {
  TrainingLog written = log(), restored = log();
  for (std::int64_t number = 1; number <= 10; ++number) {
    restored.restore_step(written.add(step(number), *run_));
  }
  const Evaluation evaluation{.metrics = {{"bleu", 3}, {"loss", 2}}, .text = {}, .sample = {}};
  restored.restore_evaluation(written.add(10, 1, evaluation));
  EXPECT_EQ(restored.losses(), written.losses());
  EXPECT_EQ(restored.chart().live_bytes, written.chart().live_bytes);
  EXPECT_EQ(restored.chart().lengths[0].values, written.chart().lengths[0].values);
  EXPECT_EQ(restored.chart().lines[0].reserved_bytes, written.chart().lines[0].reserved_bytes);
  ASSERT_EQ(restored.evaluations().kept().size(), 1u);
  EXPECT_EQ(restored.evaluations().kept()[0].values, (std::vector<double>{3, 2}));
  EXPECT_EQ(restored.steps(), 0) << "of this process";
  EXPECT_EQ(written.steps(), 10);
}

TEST_F(TrainingLogTest, LinesThatLackAFigureLeaveAGap) {
  TrainingLog restored = log();
  restored.restore_step({{"step", 2}, {"loss", "x"}, {"reserved", -1}});
  restored.restore_step({{"step", 4}, {"loss", 0.5}, {"reserved", 7u}});
  restored.restore_missing(6);
  ASSERT_EQ(restored.losses().points().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(restored.losses().points()[i].measured, i == 3 ? 1u : 0u) << i;
  }
  EXPECT_EQ(restored.chart().lines[0].reserved_bytes.points()[3].sum, 7);
  EXPECT_EQ(restored.chart().live_bytes.steps(), 6u);
}

TEST_F(TrainingLogTest, TheMedianLeavesOutTheWarmUp) {
  TrainingLog written = log();
  EXPECT_FALSE(written.step_seconds_median(0));
  for (std::int64_t number = 1; number <= 4; ++number) written.add(step(number), *run_);
  EXPECT_EQ(written.step_seconds_median(1), 1e-3 * 3);
  EXPECT_EQ(written.step_seconds_median(3), 1e-3 * 4);
  EXPECT_FALSE(written.step_seconds_median(4));
}

TEST_F(TrainingLogTest, DoesNotGrowWithTheStepsOfARun) {
#ifdef SKYLINE_SANITIZED
  GTEST_SKIP() << "the sanitizer's allocator does not count";
#endif
  TrainingLog written = log();
  std::int64_t number = 0;
  const auto heap_bytes_after = [&](std::int64_t steps) {
    while (number < steps) {
      written.add(step(++number), *run_);
      if (number % 10 == 0)
        written.add(number, 1, {.metrics = {{"bleu", 1}}, .text = {}, .sample = {}});
    }
    return mallinfo2().uordblks;
  };
  const std::size_t early = heap_bytes_after(50'000);
  EXPECT_LT(heap_bytes_after(200'000), early + 50'000) << "less than a byte a step";
}

}  // namespace
}  // namespace skyline
