// Logits, loss, gradients and steps of AdamW that PyTorch computed from the same weights;
// torch_gpt.py wrote the numbers, or computes them if $SKYLINE_PYTHON names a Python that has
// torch, numpy and safetensors.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/temporary_folder.h"
#include "tests/train/weights/formula_weights.h"
#include "train/checkpoints/files.h"
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
  std::size_t tensors;         // in PyTorch's state_dict
  std::uint64_t specs;         // FNV-1a of their names and shapes
  std::vector<double> logits;  // the first of the last word
  double loss;
  std::vector<TorchGradient> gradients;
  std::vector<double> losses;  // of the steps
};

const std::vector<TorchGpt> kTorchGpts = {
#include "tests/train/weights/torch_gpt.inc"
};

constexpr std::int64_t kWords = 30;
constexpr std::size_t kWindows = 3, kLength = 10;

// Gives the network the weights of a formula and makes the windows of one its batch.
void take_formula(TextRun& run, std::size_t windows, std::size_t length) {
  for (const StoredWeight& weight : run.network().weights()) {
    const StoredTensor own = stored(run.context, weight);
    load(run.context, formula_tensor(own.name, own.shape), weight);
  }
  WindowBatch batch{.words = {}, .answers = {}, .windows = windows};
  const auto seed = static_cast<std::uint32_t>(fnv("words"));
  const auto word = [&](std::size_t i) {
    return static_cast<std::int32_t>((uniform(seed, i) + 0.5) *
                                     static_cast<double>(run.model.shape().words));
  };
  for (std::size_t i = 0; i < windows * length; ++i) {
    batch.words.push_back(word(i));
    batch.answers.push_back(word(i + 1));
  }
  run.take({batch});
}

std::vector<float> floats_of(const auto& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The gradient of weight i, in the order of files.
std::vector<float> gradient_of(TextRun& run, std::size_t i) {
  StoredWeight as_file = run.network().weights()[i];
  as_file.value = run.network().parameters()[i].gradient;
  return floats_of(host_copy(stored(run.context, as_file)).bytes);
}

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
    take_formula(run_, kWindows, kLength);
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
    EXPECT_NEAR(last[i], GetParam().logits[i], 2e-5) << i;
  }
}

TEST_P(TorchGptTest, LossAndGradientsAreTheSame) {
  EXPECT_NEAR(run_.train_step({.learning_rate = 0}), GetParam().loss, 1e-5 * GetParam().loss);
  const std::vector<StoredWeight>& weights = run_.network().weights();
  ASSERT_EQ(weights.size(), GetParam().gradients.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::vector<float> values = gradient_of(run_, i);
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
  const std::vector<double>& expected = GetParam().losses;
  const LearningRate rate{
      .base = 0.01, .total_steps = std::ssize(expected), .warmup_steps = 4, .least = 0.001};
  for (std::size_t step = 0; step < expected.size(); ++step) {
    const auto number = static_cast<std::int64_t>(step);
    const float loss =
        run_.train_step({.learning_rate = static_cast<float>(rate.at(number)), .step = number + 1});
    EXPECT_NEAR(loss, expected[step], 1e-4 * expected[step]) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Biases, TorchGptTest, ::testing::ValuesIn(kTorchGpts),
                         [](const auto& tested) {
                           return tested.param.biases ? "with" : "without";
                         });

// A network and its batch.
struct TorchCase {
  std::string name;
  GptShape shape;
  std::size_t windows, length;
};

class TorchGptGradients : public ::testing::TestWithParam<TorchCase> {};

// By less than 1e-5 of each tensor's largest.
TEST_P(TorchGptGradients, AreTheSameElementByElement) {
  const char* const python = std::getenv("SKYLINE_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "SKYLINE_PYTHON names no Python with torch";
  const auto& [name, shape, windows, length] = GetParam();
  const TemporaryFolder folder;
  const std::string command = fmt::format(
      "'{}' -B '{}/tests/train/weights/torch_gpt.py' gradients '{}' {} {} {} {} {} {} {} {}",
      python, SKYLINE_SOURCE_DIR, folder.path().string(), shape.words, shape.positions,
      shape.layers, shape.heads, shape.units, int{shape.biases}, windows, length);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto expected = [&](const std::string& file) {
    return floats_of(read_file(folder / file));
  };

  TextRun run({}, {.seed = 3}, {.shape = shape, .length = length});
  take_formula(run, windows, length);
  const float loss = expected("loss").front();
  EXPECT_NEAR(run.train_step({.learning_rate = 0}), loss, 1e-5f * loss);
  const std::vector<StoredWeight>& weights = run.network().weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::vector<float> found = gradient_of(run, i), torch = expected(weights[i].name);
    ASSERT_EQ(found.size(), torch.size()) << weights[i].name;
    float largest = 0, apart = 0;
    for (std::size_t k = 0; k < torch.size(); ++k) {
      largest = std::max(largest, std::abs(torch[k]));
      apart = std::max(apart, std::abs(found[k] - torch[k]));
    }
    EXPECT_GT(largest, 0) << weights[i].name;
    EXPECT_LT(apart, 1e-5f * largest) << weights[i].name;
    RecordProperty(weights[i].name, fmt::format("{:.1e}", apart / largest));
  }
}

const GptShape kSmall = {
    .words = 65, .positions = 64, .layers = 4, .heads = 4, .units = 128, .biases = false};
const GptShape kSmallWithBiases = {
    .words = 65, .positions = 64, .layers = 4, .heads = 4, .units = 128};
const GptShape kTwoLayers = {.words = 2000, .positions = 80, .layers = 2};

INSTANTIATE_TEST_SUITE_P(Networks, TorchGptGradients,
                         ::testing::Values(TorchCase{"small", kSmall, 12, 64},
                                           TorchCase{"small_with_biases", kSmallWithBiases, 12, 64},
                                           TorchCase{"gpt2_of_two_layers", kTwoLayers, 4, 64}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace skyline
