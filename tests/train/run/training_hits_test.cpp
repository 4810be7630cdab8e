// How many images of a training step the network had right.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/train/images/small_training.h"

namespace skyline {
namespace {

using namespace tests;

std::uint64_t right_of(const Inference& inference, const Batch& batch) {
  const std::size_t classes = inference.logits.size() / batch.size;
  std::uint64_t right = 0;
  for (std::size_t row = 0; row < batch.size; ++row) {
    const auto begin = inference.logits.begin() + static_cast<std::ptrdiff_t>(row * classes);
    const auto end = begin + static_cast<std::ptrdiff_t>(classes);
    right += std::max_element(begin, end) - begin == batch.labels[row] ? 1 : 0;
  }
  return right;
}

TEST(TrainingHitsTest, AreThoseOfTheLogitsBeforeTheUpdate) {
  const ModelShape shape = small_shape("lenet");
  ImageRun run({.guard = true}, seeded(), {.model = "lenet", .shape = shape});
  EXPECT_FALSE(run.hits().top1());
  std::uint64_t all = 0;
  for (const Batch& batch : small_batches(shape, 32, 20)) {
    const std::uint64_t right = right_of(inference_step(run.context, *run.model, batch), batch);
    run.train_step(batch, small_params());
    EXPECT_EQ(run.hits(), (TrainingHits{.right = right, .images = 32}));
    all += right;
  }
  EXPECT_GT(all, 0u);
}

TEST(TrainingHitsTest, AreCountedOverMicroBatches) {
  const ModelShape shape = small_shape("mlp");
  const Batch batch = small_batches(shape, 8, 1).front();
  ImageRun run({}, seeded(), {.model = "mlp", .shape = shape, .shares = {.micro_batches = 3}});
  const std::uint64_t right = right_of(inference_step(run.context, *run.model, batch), batch);
  run.train_step(batch, small_params());  // the same batch three times
  EXPECT_EQ(run.hits(), (TrainingHits{.right = 3 * right, .images = 24}));
}

TEST(TrainingHitsTest, AreNoneInADryRun) {
  Context::Options options = seeded();
  options.dry_run = Emulation();
  ImageRun run({.device = "simulated"}, options, {.model = "mlp", .shape = small_shape("mlp")});
  run.take_empty_batch(8);
  run.train_step(small_params());
  EXPECT_FALSE(run.hits().top1());
}

}  // namespace
}  // namespace skyline
