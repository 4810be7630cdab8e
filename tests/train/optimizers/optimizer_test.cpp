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

TEST(Optimizer, RefusesToClipFusedUpdates) {
  EXPECT_THROW(train_images({.clip = 1}, true), std::invalid_argument);
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

// The parameters after one step without momentum, each as its values.
std::vector<std::vector<float>> after_a_step(OptimizerOptions optimizer, bool fused, bool begin) {
  optimizer.momentum = 0;
  Context::Options options = seeded();
  options.fused_update = fused;
  const ModelShape shape = small_shape("resnet20");
  ImageRun run({}, options, {.model = "resnet20", .shape = shape, .optimizer = optimizer});
  if (!begin) run.train_step(small_batches(shape, 8, 1).front(), {.learning_rate = 0.5f});
  std::vector<std::vector<float>> all;
  for (const Parameter& parameter : run.network().parameters()) {
    std::vector<float> values(static_cast<std::size_t>(parameter.value.shape().elements()));
    run.context.download(parameter.value.detach(), values.data());
    all.push_back(std::move(values));
  }
  return all;
}

// With and without decay, parameters differ by learning rate x decay x what they were before.
TEST(OptimizerTest, OnlyWeightsDecayIfBiasesAndNormalizationMayNot) {
  const OptimizerOptions none{.weight_decay = 0}, all{.weight_decay = 0.5f};
  OptimizerOptions only = all;
  only.decay_weights_only = true;
  for (const bool fused : {false, true}) {
    const auto before = after_a_step(none, fused, true), plain = after_a_step(none, fused, false);
    const auto decayed = after_a_step(all, fused, false), some = after_a_step(only, fused, false);
    ImageRun run({}, seeded(), {.model = "resnet20", .shape = small_shape("resnet20")});
    int kept = 0;
    for (std::size_t p = 0; p < before.size(); ++p) {
      const Parameter& parameter = run.network().parameters()[p];
      const bool is_weight = parameter.value.shape().rank() > 1;
      EXPECT_EQ(is_weight, parameter.name.ends_with(".weight")) << parameter.name;
      EXPECT_EQ(some[p], is_weight ? decayed[p] : plain[p]) << parameter.name;
      kept += is_weight ? 0 : 1;
      for (std::size_t i = 0; i < before[p].size(); ++i) {
        ASSERT_NEAR(decayed[p][i], plain[p][i] - 0.25f * before[p][i], 1e-6) << parameter.name;
      }
    }
    EXPECT_GT(kept, 0);
  }
}

TEST(OptimizerTest, AnUnknownNameIsRefused) {
  EXPECT_THROW(
      ImageRun({}, seeded(),
               {.model = "mlp", .shape = small_shape("mlp"), .optimizer = {.name = "sdg"}}),
      std::invalid_argument);
}

}  // namespace
}  // namespace skyline
