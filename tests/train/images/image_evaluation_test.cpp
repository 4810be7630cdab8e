#include "train/images/image_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/host.h"
#include "tests/train/images/small_training.h"

namespace skyline {
namespace {

using namespace tests;

class EvaluateTest : public ::testing::Test {
 protected:
  ShapesDataset dataset(std::size_t size) {
    return {{.size = size, .channels = 1, .height = 16, .width = 16}, Split::kTest, Philox{2}};
  }
  ImageRun experiment_{
      {.check = true}, seeded(), {.model = "lenet", .shape = small_shape("lenet")}};
};

// Compares with evaluating one image at a time.
TEST_F(EvaluateTest, CountsTheSameForEveryBatchSize) {
  const ShapesDataset data = dataset(23);
  const Accuracy one = evaluate(experiment_.context, *experiment_.model, data, {1});
  EXPECT_EQ(one.total, 23);
  for (const std::size_t batch_size : {2u, 7u, 23u, 100u}) {
    const Accuracy many = evaluate(experiment_.context, *experiment_.model, data, {batch_size});
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
  EXPECT_EQ(evaluate(experiment_.context, *experiment_.model, data, {6}).correct, correct);
}

// The lower class ranks first among equal logits. A logit that is no number ranks before all
// others.
TEST_F(EvaluateTest, RanksTiesByClassAndNaNFirst) {
  const ShapesDataset data = dataset(40);
  std::int64_t zeros = 0, below_five = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    std::vector<float> image(data.image_shape().elements());
    std::int32_t label = 0;
    data.read({.index = i}, image.data(), &label);
    zeros += label == 0;
    below_five += label < 5;
  }
  ASSERT_GT(zeros, 0);
  const auto accuracy_with = [&](float value) {
    for (const Parameter& parameter : experiment_.model->parameters()) {
      const std::vector<float> values(parameter.value.spec().bytes() / sizeof(float), value);
      experiment_.context.write(parameter.value, values.data());
    }
    return evaluate(experiment_.context, *experiment_.model, data, {8});
  };
  const Accuracy tied = accuracy_with(0);
  EXPECT_EQ(tied.correct, zeros);
  EXPECT_EQ(tied.correct_top5, below_five);
  const Accuracy undefined = accuracy_with(std::nanf(""));
  EXPECT_EQ(undefined.correct, 0);
  EXPECT_EQ(undefined.correct_top5, 0);
}

TEST_F(EvaluateTest, LeavesTrainingAsItWas) {
  ImageRun undisturbed({.check = true}, seeded(),
                       {.model = "resnet20", .shape = small_shape("resnet20")});
  ImageRun evaluated({.check = true}, seeded(),
                     {.model = "resnet20", .shape = small_shape("resnet20")});
  const ShapesDataset data({.size = 10, .channels = 3, .height = 16, .width = 16}, Split::kTest,
                           Philox{2});
  for (const Batch& batch : small_batches(small_shape("resnet20"), 4, 4)) {
    evaluate(evaluated.context, *evaluated.model, data, {4});
    EXPECT_TRUE(evaluated.context.training());
    EXPECT_EQ(undisturbed.train_step(batch, small_params()),
              evaluated.train_step(batch, small_params()));
  }
  EXPECT_EQ(parameters_sha256(undisturbed), parameters_sha256(evaluated));
  EXPECT_EQ(state_sha256(undisturbed), state_sha256(evaluated));
}

// Four images; only every second one, or none, can be read.
class SomeUnreadable : public Dataset {
 public:
  explicit SomeUnreadable(std::size_t readable_every) : every_(readable_every) {}
  const std::string& name() const noexcept override { return name_; }
  std::size_t size() const noexcept override { return 4; }
  ImageShape image_shape() const noexcept override { return {1, 16, 16}; }
  const std::vector<std::string>& class_names() const noexcept override { return classes_; }
  void read(const Sample& sample, float* image, std::int32_t* label) const override {
    std::fill_n(image, 256, static_cast<float>(sample.index));
    const bool readable = every_ > 0 && sample.index % every_ == 0;
    *label = readable ? static_cast<std::int32_t>(sample.index) : kNotCounted;
  }

 private:
  std::size_t every_;
  std::string name_ = "some";
  std::vector<std::string> classes_ = std::vector<std::string>(10, "class");
};

TEST_F(EvaluateTest, ImagesThatCannotBeReadAreNotCounted) {
  for (const std::size_t batch_size : {1u, 3u, 4u}) {
    const Accuracy accuracy =
        evaluate(experiment_.context, *experiment_.model, SomeUnreadable(2), {batch_size, 2});
    EXPECT_EQ(accuracy.total, 2);
    EXPECT_EQ(accuracy.not_counted, 2);
    EXPECT_LE(accuracy.correct, 2);
  }
  EXPECT_THROW(evaluate(experiment_.context, *experiment_.model, SomeUnreadable(0), {2}),
               DataError);
}

// Compares with sorting each image's logits and with the step's own loss.
TEST_F(EvaluateTest, FiveGuessesAndTheLossAreThoseOfTheLogits) {
  const ShapesDataset data = dataset(24);
  std::int64_t among_five = 0;
  double loss = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    Batch batch;
    batch.images.resize(data.image_shape().elements());
    batch.labels.resize(1);
    batch.size = 1;
    data.read({.index = i}, batch.images.data(), batch.labels.data());
    const Inference result = inference_step(experiment_.context, *experiment_.model, batch);
    const float own = result.logits[static_cast<std::size_t>(batch.labels[0])];
    among_five += std::ranges::count_if(result.logits, [own](float x) { return x > own; }) < 5;
    loss += result.loss;
  }
  const Accuracy accuracy = evaluate(experiment_.context, *experiment_.model, data, {8});
  EXPECT_EQ(accuracy.correct_top5, among_five);
  EXPECT_NEAR(accuracy.mean_loss(), loss / 24, 1e-4);
  EXPECT_GE(accuracy.correct_top5, accuracy.correct);
}

TEST_F(EvaluateTest, AccuracyOfNothingIsZero) { EXPECT_EQ(Accuracy{}.top1(), 0.0); }

}  // namespace
}  // namespace skyline
