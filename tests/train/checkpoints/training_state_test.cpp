#include "train/state/training_state.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/images/small_training.h"
#include "train/checkpoints/sha256.h"
#include "train/images/trained_network.h"

namespace skyline {
namespace {

using namespace tests;

std::unique_ptr<ImageRun> make(const std::string& model) {
  return std::make_unique<ImageRun>(MemoryOptions{}, seeded(),
                                    ImageRunOptions{.model = model, .shape = small_shape(model)});
}

TEST(TensorCopiesTest, FiltersTurnToTheOrderOfTheirShape) {
  const auto experiment = make("mlp");
  // A tensor [1, 2, 2, 2] in channels-last memory: element (c, h, w) is 100 c + 10 h + w.
  const std::vector<float> memory = {0, 100, 1, 101, 10, 110, 11, 111};
  const Tensor tensor =
      experiment->context.resident({{1, 2, 2, 2}}, Category::kParameter, "filter", memory.data());
  const HostCopy host = host_copy(stored(experiment->context, {"filter", tensor, 2}));
  std::vector<float> values(8);
  std::memcpy(values.data(), host.bytes.data(), host.bytes.size());
  EXPECT_EQ(values, (std::vector<float>{0, 1, 10, 11, 100, 101, 110, 111}));

  const Tensor copy = experiment->context.resident({{1, 2, 2, 2}}, Category::kParameter, "filter");
  load(experiment->context, stored(host), {"filter", copy, 2});
  std::vector<float> back(8);
  experiment->context.download(copy.detach(), back.data());
  EXPECT_EQ(back, memory);
}

// Reads a dense layer's weight at every offset, so that pieces begin and end within rows.
TEST(TensorCopiesTest, PiecesAreThoseOfTheWhole) {
  const auto experiment = make("mlp");
  constexpr std::int64_t kRows = 3, kChannels = 5, kPixels = 4;
  std::vector<float> memory, expected(kRows * kChannels * kPixels);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t pixel = 0; pixel < kPixels; ++pixel) {
      for (std::int64_t channel = 0; channel < kChannels; ++channel) {
        const std::int64_t file = (row * kChannels + channel) * kPixels + pixel;
        expected[static_cast<std::size_t>(file)] = static_cast<float>(memory.size());
        memory.push_back(static_cast<float>(memory.size()));
      }
    }
  }
  const StoredWeight weight{"fc.weight",
                            experiment->context.resident({{kRows, kChannels * kPixels}},
                                                         Category::kParameter, "fc", memory.data()),
                            kChannels};
  const StoredTensor whole = stored(experiment->context, weight);
  for (std::size_t first = 0; first < expected.size(); ++first) {
    for (std::size_t count = 1; first + count <= expected.size(); count += 3) {
      std::vector<float> piece(count);
      whole.read(first * sizeof(float), std::as_writable_bytes(std::span(piece)));
      EXPECT_TRUE(
          std::equal(piece.begin(), piece.end(), expected.begin() + static_cast<long>(first)))
          << first << ' ' << count;
    }
  }
}

// As above, and once more from the start, as a file and its check read it.
TEST(TensorCopiesTest, MatricesThatFilesHaveTransposedComeBack) {
  const auto experiment = make("mlp");
  Context& context = experiment->context;
  constexpr std::int64_t kOut = 300, kIn = 500;
  static_assert(kOut * kIn * sizeof(float) > 2 * kStoredPieceBytes);
  std::vector<float> memory(kOut * kIn), expected(kOut * kIn);
  for (std::size_t out = 0; out < kOut; ++out) {
    for (std::size_t in = 0; in < kIn; ++in) {
      expected[in * kOut + out] = memory[out * kIn + in] = static_cast<float>(out * kIn + in);
    }
  }
  const TensorSpec spec{{kOut, kIn}};
  const StoredWeight weight{
      .name = "c_fc.weight",
      .value = context.resident(spec, Category::kParameter, "c_fc", memory.data()),
      .transposed = true};
  const StoredTensor file = stored(context, weight);
  EXPECT_EQ(file.shape, (std::vector<std::int64_t>{kIn, kOut}));
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<float> values(kOut * kIn);
    for_each_piece(file, [&](std::uint64_t offset, std::span<const std::byte> piece) {
      std::memcpy(reinterpret_cast<std::byte*>(values.data()) + offset, piece.data(), piece.size());
    });
    EXPECT_EQ(values, expected);
  }
  const StoredWeight copy{.name = "c_fc.weight",
                          .value = context.resident(spec, Category::kParameter, "c_fc"),
                          .transposed = true};
  load(context, file, copy);
  std::vector<float> back(memory.size());
  context.download(copy.value.detach(), back.data());
  EXPECT_EQ(back, memory);
}

// More than one piece, and a last one that is shorter.
TEST(TensorCopiesTest, LargeTensorsComeBackAndHashAsAWhole) {
  const auto experiment = make("mlp");
  Context& context = experiment->context;
  constexpr std::int64_t kRows = 130, kRow = 3 * 7 * 64;
  std::vector<float> values(kRows * kRow);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8191);
  const TensorSpec spec{{kRows, kRow}};
  ASSERT_GT(spec.bytes(), 2 * kStoredPieceBytes);
  const Tensor tensor = context.resident(spec, Category::kParameter, "fc", values.data());
  const Tensor copy = context.resident(spec, Category::kParameter, "fc");
  load(context, stored(context, {"fc", tensor, 3}), {"fc", copy, 3});
  std::vector<float> back(values.size());
  context.download(copy.detach(), back.data());
  EXPECT_EQ(back, values);
  EXPECT_EQ(tensors_sha256(context, std::vector{copy}),
            sha256_hex(std::as_bytes(std::span(values))));
}

TEST(TensorCopiesTest, AnotherShapeIsRefusedByName) {
  const auto experiment = make("mlp");
  const Tensor tensor = experiment->context.resident({{2, 3}}, Category::kParameter, "fc.weight");
  StoredTensor host = stored(experiment->context, {"fc.weight", tensor});
  host.shape = {3, 2};
  try {
    load(experiment->context, host, {"fc.weight", tensor});
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("fc.weight"), std::string::npos);
  }
}

class TrainingStateTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingStateTest, ARestoredExperimentGoesOnAsTheOtherOne) {
  const auto batches = small_batches(small_shape(GetParam()), 4, 6);
  const auto first = make(GetParam());
  for (int i = 0; i < 3; ++i)
    first->train_step(batches[static_cast<std::size_t>(i)], small_params());
  const Checkpoint checkpoint = capture(*first, {});
  const auto second = make(GetParam());
  second->train_step(batches[5], small_params());  // so that restore() has something to change
  restore(*second, checkpoint);
  EXPECT_EQ(parameters_sha256(*first), parameters_sha256(*second));
  EXPECT_EQ(second->context.random().next, first->context.random().next);
  for (int i = 3; i < 6; ++i) {
    const Batch& batch = batches[static_cast<std::size_t>(i)];
    EXPECT_EQ(first->train_step(batch, small_params()), second->train_step(batch, small_params()));
  }
  EXPECT_EQ(parameters_sha256(*first), parameters_sha256(*second));
  EXPECT_EQ(state_sha256(*first), state_sha256(*second));
}

INSTANTIATE_TEST_SUITE_P(Networks, TrainingStateTest, ::testing::ValuesIn(small_model_names()),
                         [](const auto& tested) { return tested.param; });

// The first step moves each weight by its velocity, so their elements must lie in the same order in
// both files.
TEST(TrainingStateTest, VelocitiesHaveTheOrderOfTheirWeights) {
  const auto values = [](const StoredTensor& tensor) {
    const HostCopy copy = host_copy(tensor);
    std::vector<float> result(copy.bytes.size() / sizeof(float));
    std::memcpy(result.data(), copy.bytes.data(), copy.bytes.size());
    return result;
  };
  const auto experiment = make("lenet");
  const std::vector<HostCopy> before = host_copies(capture(*experiment, {}).weights);
  experiment->train_step(small_batches(small_shape("lenet"), 4, 1).front(), small_params());
  const Checkpoint after = capture(*experiment, {});
  ASSERT_EQ(after.state.size(), before.size());
  for (std::size_t tensor = 0; tensor < before.size(); ++tensor) {
    const std::string& name = before[tensor].name;
    ASSERT_EQ(after.weights[tensor].name, name);
    ASSERT_EQ(after.state[tensor].name, name + ".velocity");
    const std::vector<float> old = values(stored(before[tensor])),
                             moved = values(after.weights[tensor]),
                             velocity = values(after.state[tensor]);
    for (std::size_t i = 0; i < old.size(); ++i) {
      ASSERT_NEAR(moved[i] - old[i], velocity[i], 1e-6) << name << ' ' << i;
    }
  }
}

TEST(TrainingStateTest, WeightsAreWhatInferenceNeeds) {
  const auto experiment = make("resnet20");
  const Checkpoint checkpoint = capture(*experiment, {});
  EXPECT_EQ(checkpoint.weights.size(), 59u + 38u + 19u) << "running values and batch counters";
  EXPECT_EQ(checkpoint.state.size(), 59u);
  EXPECT_EQ(checkpoint.weights.front().name, "conv1.weight");
  EXPECT_EQ(checkpoint.weights.front().shape, (std::vector<std::int64_t>{16, 3, 3, 3}));
}

TEST(TrainingStateTest, FilesHaveThePyTorchNamesOfWeightsAndTheirState) {
  const auto run = make("resnet20");
  const Checkpoint checkpoint = capture(*run, {.step = 12});
  std::set<std::string> weights, state;
  for (const StoredTensor& tensor : checkpoint.weights) weights.insert(tensor.name);
  for (const StoredTensor& tensor : checkpoint.state) state.insert(tensor.name);
  for (const char* name :
       {"bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked",
        "conv3_1.bn2.running_var", "conv4_3.conv2.weight", "fc.bias"}) {
    EXPECT_TRUE(weights.contains(name)) << name;
  }
  EXPECT_TRUE(state.contains("conv3_1.bn2.weight.velocity"));
  EXPECT_FALSE(state.contains("bn1.running_mean.velocity"));
  for (const StoredTensor& tensor : checkpoint.weights) {
    if (!tensor.name.ends_with("num_batches_tracked")) continue;
    std::int64_t batches = 0;
    tensor.read(0, std::as_writable_bytes(std::span(&batches, 1)));
    EXPECT_EQ(batches, 12);
    EXPECT_EQ(spec_text(tensor), "I64 []");
  }
}

TEST(TrainingStateTest, AForeignCheckpointIsNamed) {
  const auto lenet = make("lenet");
  const auto problem = [&](const Checkpoint& checkpoint) -> std::string {
    try {
      restore(*lenet, checkpoint);
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "no error";
  };
  Checkpoint missing = capture(*lenet, {});
  missing.weights.erase(missing.weights.begin() + 2);
  EXPECT_EQ(problem(missing),
            "the checkpoint is not this model's: weights.safetensors has no tensor 'conv2.weight'");
  Checkpoint left_over = capture(*lenet, {});
  left_over.state.push_back(left_over.state.back());
  left_over.state.back().name = "fc9.velocity";
  EXPECT_EQ(problem(left_over),
            "the checkpoint is not this model's: state.safetensors has a tensor 'fc9.velocity'");
  EXPECT_EQ(problem(capture(*lenet, {})), "no error");
}

TEST(AuxiliaryHeadsTest, AreWhatInferenceDoesNotHave) {
  const auto names_of = [](const char* model) {
    const ModelEntry& entry = find_model(model);
    return auxiliary_names(entry, entry.shape);
  };
  EXPECT_TRUE(names_of("resnet20").empty());
  const std::set<std::string> names = names_of("googlenet");
  EXPECT_EQ(names.size(), 12u) << "two heads of a convolution and two linear layers with biases";
  for (const std::string& name : names)
    EXPECT_EQ(name.find("inception"), std::string::npos) << name;
}

TEST(AuxiliaryHeadsTest, OnlyTheirTensorsMayBeLeftOver) {
  const auto trained = make("lenet");
  Checkpoint checkpoint = capture(*trained, {});
  StoredTensor head = checkpoint.weights.front();
  head.name = "loss1_fc.weight";
  checkpoint.weights.push_back(head);
  ImageRun inference({}, seeded(Mode::kInference),
                     {.model = "lenet", .shape = small_shape("lenet")});
  restore_weights(inference, checkpoint, {head.name});
  EXPECT_EQ(parameters_sha256(inference), parameters_sha256(*trained));
  try {
    restore_weights(inference, checkpoint, {"another.weight"});
    FAIL() << "no error";
  } catch (const CheckpointError& error) {
    EXPECT_NE(std::string(error.what()).find("has a tensor 'loss1_fc.weight'"), std::string::npos);
  }
}

}  // namespace
}  // namespace skyline
