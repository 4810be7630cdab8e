#include "train/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include "tests/train/images/small_training.h"
#include "tests/train/translation/small_translation.h"

namespace skyline {
namespace {

using namespace tests;

struct TrainedState {
  std::vector<float> losses;
  std::string parameters, state;
  bool operator==(const TrainedState&) const = default;
};

TrainedState outcome_of(ModelRun& run, std::vector<float> losses) {
  return {std::move(losses), tensors_sha256(run.context, values_of(run.network().parameters())),
          tensors_sha256(run.context, values_of(run.optimizer_state()))};
}

TrainedState train_images(const OptimizerOptions& optimizer, bool fused) {
  Context::Options options = seeded();
  options.fused_update = fused;
  const ModelShape shape = small_shape("lenet");
  ImageRun run({.check = true}, options,
               {.model = "lenet", .shape = shape, .optimizer = optimizer});
  std::vector<float> losses;
  for (const Batch& batch : small_batches(shape, 8, 5)) {
    losses.push_back(
        run.train_step(batch, {.learning_rate = 1e-3f, .step = std::ssize(losses) + 1}));
  }
  return outcome_of(run, losses);
}

TrainedState train_text(const OptimizerOptions& optimizer, bool fused, int recompute = 0) {
  Context::Options options{.recompute = recompute, .fused_update = fused, .seed = 11};
  const TranslationData data = small_text();
  TranslationRun run({.check = true}, options,
                     {.shape = small_seq2seq(data), .optimizer = optimizer});
  return outcome_of(run, run_steps(run, small_pair_batches(data, 5)));
}

class OptimizerTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OptimizerTest, TrainsImagesAndTextAndFusedUpdatesChangeNoBit) {
  const OptimizerOptions optimizer{.name = GetParam()};
  const TrainedState images = train_images(optimizer, false), text = train_text(optimizer, false);
  for (const TrainedState& outcome : {images, text}) {
    EXPECT_NE(outcome.losses.front(), outcome.losses.back());
  }
  EXPECT_EQ(train_images(optimizer, true), images);
  EXPECT_EQ(train_text(optimizer, true), text);
  EXPECT_EQ(train_text(optimizer, true, 3), text) << "and recompute";
}

TEST_P(OptimizerTest, ClipsTheNormOfAllGradients) {
  OptimizerOptions optimizer{.name = GetParam()};
  const TrainedState free = train_text(optimizer, false);
  optimizer.clip = 1e9f;
  EXPECT_EQ(train_text(optimizer, false).losses, free.losses) << "a limit that nothing reaches";
  optimizer.clip = 1e-3f;
  EXPECT_NE(train_text(optimizer, false).losses, free.losses);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerTest, ::testing::ValuesIn(optimizer_names()),
                         [](const auto& tested) { return tested.param; });

TEST(OptimizerTest, AnUnknownNameIsRefused) {
  EXPECT_THROW(
      ImageRun({}, seeded(),
               {.model = "mlp", .shape = small_shape("mlp"), .optimizer = {.name = "sdg"}}),
      std::invalid_argument);
}

}  // namespace
}  // namespace skyline
