#include "train/checkpoints/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/small_training.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/usage_error.h"
#include "train/state/training_state.h"

namespace skyline {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::unique_ptr<ImageRun> lenet(std::uint64_t seed, int classes = 10) {
  ModelShape shape = small_shape("lenet");
  shape.classes = classes;
  return std::make_unique<ImageRun>(MemoryOptions{}, Context::Options{.seed = seed},
                                    ImageRunOptions{.model = "lenet", .shape = shape});
}

class InitialWeightsTest : public ::testing::Test {
 protected:
  static std::vector<StoredTensor> weights_of(ImageRun& run) {
    return stored_weights(run.context, run.network(), 0);
  }
  std::string write(const std::vector<StoredTensor>& tensors) {
    write_safetensors(file_, tensors);
    return file_.string();
  }
  static InitialWeights load(ImageRun& run, const std::filesystem::path& from) {
    return load_initial_weights(run.context, run.network(), from);
  }

  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "w.safetensors";
  std::unique_ptr<ImageRun> from_ = lenet(1), to_ = lenet(2);
};

TEST_F(InitialWeightsTest, AllOfAFileAreTaken) {
  const InitialWeights initial = load(*to_, write(weights_of(*from_)));
  EXPECT_EQ(initial.loaded, 10u);
  EXPECT_EQ(initial.all, 10u);
  EXPECT_THAT(initial.warnings, IsEmpty());
  EXPECT_EQ(parameters_sha256(*to_), parameters_sha256(*from_));
}

TEST_F(InitialWeightsTest, ANewLastLayerKeepsItsInitialValuesAndIsNamed) {
  const auto small = lenet(2, 3), untouched = lenet(2, 3);
  const InitialWeights initial = load(*small, write(weights_of(*from_)));
  EXPECT_EQ(initial.loaded, 8u);
  EXPECT_THAT(initial.warnings,
              ElementsAre(file_.string() +
                          ": 2 tensors of another shape or type, not loaded: fc3.weight (F32 [10, "
                          "84], here f32[3, 84]), fc3.bias (F32 [10], here f32[3])"));
  const auto last = [](ImageRun& run) { return host_copy(weights_of(run)[8]); };
  EXPECT_EQ(last(*small), last(*untouched));
  EXPECT_EQ(host_copy(weights_of(*small)[0]), host_copy(weights_of(*from_)[0]));
}

TEST_F(InitialWeightsTest, MissingAndLeftOverTensorsAreNamed) {
  std::vector<StoredTensor> tensors = weights_of(*from_);
  tensors[0].name = "conv0.weight";
  EXPECT_THAT(load(*to_, write(tensors)).warnings,
              ElementsAre(file_.string() + ": 1 tensor missing, initial values kept: conv1.weight",
                          file_.string() + ": 1 tensor not used: conv0.weight"));
}

TEST_F(InitialWeightsTest, NothingThatFitsIsAnError) {
  std::vector<StoredTensor> tensors = weights_of(*from_);
  for (StoredTensor& tensor : tensors) tensor.name = "module." + tensor.name;
  write(tensors);
  EXPECT_THAT(
      [&] { load(*to_, file_); },
      ThrowsMessage<CheckpointError>(HasSubstr("fits this model; it has no 'conv1.weight'")));
  EXPECT_THROW(load(*to_, folder_ / "none"), UsageError);
}

TEST_F(InitialWeightsTest, AValueThatIsNotFiniteIsRefusedByName) {
  std::vector<StoredTensor> tensors = weights_of(*from_);
  HostCopy bias = host_copy(tensors[1]);
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(&bias.bytes[8], &infinity, sizeof infinity);
  tensors[1] = stored(bias);
  write(tensors);
  EXPECT_THAT([&] { load(*to_, file_); },
              ThrowsMessage<SafetensorsError>(HasSubstr("tensor 'conv1.bias': value 2 is inf")));
}

TEST_F(InitialWeightsTest, TrainBeginsWithThemAndARunIsASourceToo) {
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {
        "train", "--model", "lenet",     "--images", "16",           "--steps", "1",
        "--lr",  "1e-9",    "--threads", "1",        "--batch-size", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  };
  const std::string first = (folder_ / "first").string(), second = (folder_ / "second").string();
  ASSERT_EQ(train({"--out", first, "--seed", "1"}).exit_code, 0);
  const Outcome again = train({"--out", second, "--seed", "2", "--init-weights", first});
  EXPECT_EQ(again.exit_code, 0) << again.messages;
  EXPECT_THAT(again.messages, HasSubstr("began with 10 of 10 tensors of " + first));
  const auto conv1 = [](const std::string& run) {
    const Checkpoint checkpoint = load_checkpoint(run).checkpoint;
    std::vector<float> values(checkpoint.weights[0].bytes() / sizeof(float));
    checkpoint.weights[0].read(0, std::as_writable_bytes(std::span(values)));
    return values;
  };
  const std::vector<float> a = conv1(first), b = conv1(second);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  EXPECT_EQ(train({"--out", (folder_ / "third").string(), "--init-weights", "/none"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "third"));
}

}  // namespace
}  // namespace skyline
