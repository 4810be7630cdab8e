#include "train/evaluate.h"

#include <gtest/gtest.h>

#include "tests/train/small_training.h"

namespace skyline {
namespace {

using namespace testing;

class EvaluateTest : public ::testing::Test {
 protected:
  ShapesDataset dataset(std::size_t size) {
    return {{.size = size, .channels = 1, .height = 16, .width = 16}, Split::kTest, random_bits(2)};
  }
  Experiment experiment_{{.check = true}, seeded(), find_model("lenet"), small_shape("lenet")};
};

// Against one image at a time.
TEST_F(EvaluateTest, CountsTheSameForEveryBatchSize) {
  const ShapesDataset data = dataset(23);
  const Accuracy one = evaluate(experiment_.context, *experiment_.model, data, 1);
  EXPECT_EQ(one.total, 23);
  for (const std::size_t batch_size : {2u, 7u, 23u, 100u}) {
    const Accuracy many = evaluate(experiment_.context, *experiment_.model, data, batch_size);
    EXPECT_EQ(many.correct, one.correct) << batch_size;
    EXPECT_EQ(many.total, 23);
  }
}

TEST_F(EvaluateTest, CountsWhatTheLogitsSay) {
  const ShapesDataset data = dataset(20);
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    Batch batch;
    batch.images.resize(data.image_shape().elements());
    batch.labels.resize(1);
    batch.size = 1;
    data.read({.index = i}, batch.images.data(), batch.labels.data());
    const std::vector<float> logits =
        inference_step(experiment_.context, *experiment_.model, batch).logits;
    std::size_t best = 0;
    for (std::size_t j = 1; j < logits.size(); ++j) best = logits[j] > logits[best] ? j : best;
    correct += static_cast<std::int32_t>(best) == batch.labels[0] ? 1 : 0;
  }
  EXPECT_EQ(evaluate(experiment_.context, *experiment_.model, data, 6).correct, correct);
}

TEST_F(EvaluateTest, LeavesTrainingAsItWas) {
  Experiment undisturbed({.check = true}, seeded(), find_model("resnet20"),
                         small_shape("resnet20"));
  Experiment evaluated({.check = true}, seeded(), find_model("resnet20"), small_shape("resnet20"));
  const ShapesDataset data({.size = 10, .channels = 3, .height = 16, .width = 16}, Split::kTest,
                           random_bits(2));
  for (const Batch& batch : small_batches(small_shape("resnet20"), 4, 4)) {
    evaluate(evaluated.context, *evaluated.model, data, 4);
    EXPECT_TRUE(evaluated.context.training());
    EXPECT_EQ(undisturbed.step(batch, small_params()), evaluated.step(batch, small_params()));
  }
  EXPECT_EQ(parameters_sha256(undisturbed), parameters_sha256(evaluated));
  EXPECT_EQ(state_sha256(undisturbed), state_sha256(evaluated));
}

TEST_F(EvaluateTest, AccuracyOfNothingIsZero) { EXPECT_EQ(Accuracy{}.top1(), 0.0); }

}  // namespace
}  // namespace skyline
