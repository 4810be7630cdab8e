// Logits, loss, gradients and steps of AdamW that PyTorch computed from the same weights;
// torch_gpt.py wrote the numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/weights/formula_weights.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/state/training_state.h"
#include "train/text/text_run.h"

namespace skyline {
namespace {

using namespace tests;

struct TorchGradient {
  std::string name;
  double norm;
  std::array<double, 3> dots;  // with uniform numbers
};

struct TorchGpt {
  bool biases;
  std::size_t tensors;        // in PyTorch's state_dict
  std::uint64_t specs;        // FNV-1a of their names and shapes
  std::vector<float> logits;  // the first of the last word
  float loss;
  std::vector<TorchGradient> gradients;
  std::vector<float> losses;  // of the steps
};

const std::vector<TorchGpt> kTorchGpts = {
#include "tests/train/weights/torch_gpt.inc"
};

constexpr std::int64_t kWords = 30;
constexpr std::size_t kWindows = 3, kLength = 10;

class TorchGptTest : public ::testing::TestWithParam<TorchGpt> {
 protected:
  TorchGptTest()
      : run_({}, {.seed = 3},
             {.shape = {.words = kWords,
                        .positions = 12,
                        .layers = 2,
                        .heads = 2,
                        .units = 16,
                        .biases = GetParam().biases},
              .length = kLength,
              .optimizer = {.name = "adamw", .weight_decay = 0.1f, .beta2 = 0.99f, .clip = 1}}) {
    for (const StoredWeight& weight : run_.network().weights()) {
      const StoredTensor own = stored(run_.context, weight);
      load(run_.context, formula_tensor(own.name, own.shape), weight);
    }
    WindowBatch batch{.words = {}, .answers = {}, .windows = kWindows};
    const auto seed = static_cast<std::uint32_t>(fnv("words"));
    const auto word = [seed](std::size_t i) {
      return static_cast<std::int32_t>((uniform(seed, i) + 0.5) * kWords);
    };
    for (std::size_t i = 0; i < kWindows * kLength; ++i) {
      batch.words.push_back(word(i));
      batch.answers.push_back(word(i + 1));
    }
    run_.take({batch});
  }

  TextRun run_;
};

TEST_P(TorchGptTest, NamesAndShapesAreThoseOfTheFile) {
  std::vector<std::string> lines;
  for (const StoredTensor& tensor : stored_weights(run_.context, run_.network(), 0)) {
    lines.push_back(fmt::format("{} [{}]\n", tensor.name, fmt::join(tensor.shape, ", ")));
  }
  std::ranges::sort(lines);
  EXPECT_EQ(lines.size(), GetParam().tensors);
  EXPECT_EQ(fnv(fmt::format("{}", fmt::join(lines, ""))), GetParam().specs);
}

TEST_P(TorchGptTest, LogitsAreTheSame) {
  Context& context = run_.context;
  const Tensor logits =
      run_.model.logits(context, run_.features(run_.batches()[0].words, kWindows));
  std::vector<float> all(static_cast<std::size_t>(logits.shape().elements()));
  context.download(logits, all.data());
  const auto last = std::span(all).last(kWords);
  for (std::size_t i = 0; i < GetParam().logits.size(); ++i) {
    EXPECT_NEAR(last[i], GetParam().logits[i], 2e-5f) << i;
  }
}

TEST_P(TorchGptTest, LossAndGradientsAreTheSame) {
  EXPECT_NEAR(run_.train_step({.learning_rate = 0}), GetParam().loss, 1e-5f * GetParam().loss);
  const std::vector<StoredWeight>& weights = run_.network().weights();
  ASSERT_EQ(weights.size(), GetParam().gradients.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor& gradient = run_.network().parameters()[i].gradient;
    StoredWeight as_file = weights[i];
    as_file.value = gradient;
    const HostCopy copy = host_copy(stored(run_.context, as_file));
    std::vector<float> values(copy.bytes.size() / sizeof(float));
    std::memcpy(values.data(), copy.bytes.data(), copy.bytes.size());
    const auto expected =
        std::ranges::find(GetParam().gradients, weights[i].name, &TorchGradient::name);
    ASSERT_NE(expected, GetParam().gradients.end()) << weights[i].name;
    const double close = 1e-4 * expected->norm;
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    EXPECT_NEAR(std::sqrt(squares), expected->norm, close) << weights[i].name;
    for (std::size_t k = 0; k < expected->dots.size(); ++k) {
      const auto seed = static_cast<std::uint32_t>(fnv(fmt::format("{}.{}", weights[i].name, k)));
      double dot = 0;
      for (std::size_t j = 0; j < values.size(); ++j) dot += values[j] * uniform(seed, j);
      EXPECT_NEAR(dot, expected->dots[k], close) << weights[i].name;
    }
  }
}

TEST_P(TorchGptTest, StepsOfAdamWClipWarmUpAndDecayAsThere) {
  const std::vector<float>& expected = GetParam().losses;
  const LearningRate rate{
      .base = 0.01, .total_steps = std::ssize(expected), .warmup_steps = 4, .least = 0.001};
  for (std::size_t step = 0; step < expected.size(); ++step) {
    const auto number = static_cast<std::int64_t>(step);
    const float loss =
        run_.train_step({.learning_rate = static_cast<float>(rate.at(number)), .step = number + 1});
    EXPECT_NEAR(loss, expected[step], 1e-4f * expected[step]) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Biases, TorchGptTest, ::testing::ValuesIn(kTorchGpts),
                         [](const auto& tested) {
                           return tested.param.biases ? "with" : "without";
                         });

}  // namespace
}  // namespace skyline
