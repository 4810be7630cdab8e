// Logits that PyTorch computed from weights with PyTorch's names and order; torch_logits.py wrote
// the numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "models/models.h"
#include "models/seq2seq.h"
#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/weights/formula_weights.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/state/training_state.h"

namespace skyline {
namespace {

using namespace tests;

constexpr int kClasses = 7;

struct TorchLogits {
  std::string model;
  int channels, height, width;  // of the image; 0: words
  std::size_t tensors;          // in PyTorch's state_dict
  std::uint64_t specs;          // FNV-1a of their names and shapes
  std::vector<float> logits;    // of the first image, or of the last word
};

const std::vector<TorchLogits> kTorchLogits = {
#include "tests/train/weights/torch_logits.inc"
};

class TorchLogitsTest : public ::testing::TestWithParam<TorchLogits> {
 protected:
  // Gives a network the weights that PyTorch's had.
  void fill(const Network& network) {
    for (const StoredWeight& weight : network.weights()) {
      if (!weight.value) continue;
      const StoredTensor own = stored(context_, weight);
      load(context_, formula_tensor(own.name, own.shape), weight);
    }
  }
  void expect_specs(const Network& network) {
    std::vector<std::string> lines;
    for (const StoredTensor& tensor : stored_weights(context_, network, 0)) {
      lines.push_back(fmt::format("{} [{}]\n", tensor.name, fmt::join(tensor.shape, ", ")));
    }
    std::ranges::sort(lines);
    EXPECT_EQ(lines.size(), GetParam().tensors);
    EXPECT_EQ(fnv(fmt::format("{}", fmt::join(lines, ""))), GetParam().specs)
        << fmt::format("{}", fmt::join(lines, ""));
  }
  // Returns the logits of row `row`.
  std::vector<float> download(const Tensor& logits, std::int64_t row) {
    const auto width = static_cast<std::size_t>(logits.shape()[1]);
    std::vector<float> all(static_cast<std::size_t>(logits.shape().elements()));
    context_.download(logits.detach(), all.data());
    const auto first =
        all.begin() + static_cast<std::ptrdiff_t>(row) * static_cast<std::ptrdiff_t>(width);
    return {first, first + kClasses};
  }
  std::vector<float> image_logits() {
    const auto& [name, channels, height, width, tensors, specs, expected] = GetParam();
    const ModelShape shape{
        .channels = channels, .height = height, .width = width, .classes = kClasses};
    const std::unique_ptr<Model> model = find_model(name).make(context_, shape);
    expect_specs(*model);
    fill(*model);
    const TensorSpec spec{{1, channels, height, width}};
    const Tensor images = context_.upload(spec, std::vector<float>(spec.bytes() / 4).data());
    load(context_, formula_tensor("images", {1, channels, height, width}),
         {"images", images, channels});
    return download(model->forward(context_, images).logits, 0);
  }
  std::vector<float> text_logits() {
    const Seq2Seq model(context_, {.source_words = 30,
                                   .target_words = 30,
                                   .layers = 2,
                                   .units = 8,
                                   .embedding = 8,
                                   .dropout = 0});
    expect_specs(model);
    fill(model);
    const auto words = [this](const std::vector<std::int32_t>& ids) {
      return context_.upload({{std::ssize(ids)}, DType::kInt32}, ids.data());
    };
    const LstmState state =
        model.encode(context_, words({3, 14, 15, 9, 2}), PackedShape({1, 1, 1, 1, 1}));
    const LstmOutput output = model.decode(context_, state, words({6, 5}), PackedShape({1, 1}));
    return download(model.logits(context_, output.y), 1);
  }

  CpuDevice device_;
  BestFitPool pool_{device_};
  Context context_{pool_, {.mode = Mode::kInference, .seed = 3}};
};

TEST_P(TorchLogitsTest, AreTheSameWithTheSameFile) {
  const std::vector<float> logits = GetParam().channels > 0 ? image_logits() : text_logits();
  const std::vector<float>& expected = GetParam().logits;
  ASSERT_EQ(expected.size(), logits.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(logits[i], expected[i], 2e-5f * largest) << "class " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TorchLogitsTest, ::testing::ValuesIn(kTorchLogits),
                         [](const auto& tested) {
                           std::string name = tested.param.model;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(TorchLogitsTable, HasEveryModel) {
  for (const ModelEntry& entry : models()) {
    EXPECT_NE(std::ranges::find(kTorchLogits, entry.name, &TorchLogits::model), kTorchLogits.end())
        << entry.name;
  }
}

}  // namespace
}  // namespace skyline
