#include "train/checkpoints/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/small_training.h"
#include "tests/train/temporary_folder.h"
#include "tests/train/text/small_text_run.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"
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
  std::vector<StoredTensor> renamed(const std::string& prefix) {
    std::vector<StoredTensor> tensors = weights_of(*from_);
    for (StoredTensor& tensor : tensors) tensor.name = prefix + tensor.name;
    return tensors;
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
  EXPECT_THAT(
      initial.warnings,
      ElementsAre(file_.string() + ": 2 tensors of another shape, not loaded: fc3.weight (F32 [10, "
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
  write(renamed("other."));
  EXPECT_THAT([&] { load(*to_, file_); },
              ThrowsMessage<CheckpointError>(HasSubstr(
                  "fits this model; it has no 'conv1.weight', but 'other.conv1.weight'")));
  EXPECT_THROW(load(*to_, folder_ / "none"), UsageError);
}

TEST_F(InitialWeightsTest, PrefixesOfWrappersAreTakenOff) {
  for (const char* prefix :
       {"module.", "model.", "_orig_mod.", "_orig_mod.module.", "module.model._orig_mod."}) {
    const InitialWeights initial = load(*to_, write(renamed(prefix)));
    EXPECT_EQ(initial.loaded, 10u);
    EXPECT_THAT(initial.notes,
                ElementsAre("took '" + std::string(prefix) + "' off the names of 10 tensors"));
    EXPECT_THAT(initial.warnings, IsEmpty());
    EXPECT_EQ(parameters_sha256(*to_), parameters_sha256(*from_));
  }
  // One without, and one that would get the name of another.
  std::vector<StoredTensor> most = renamed("module.");
  most[0].name = "conv1.weight";
  EXPECT_EQ(load(*to_, write(most)).loaded, 10u);
  most.push_back(most[0]);
  most.back().name = "module.conv1.weight";
  EXPECT_EQ(load(*to_, write(most)).loaded, 1u);
}

// Each value as the type rounds it, subnormal ones among them.
// As Hugging Face's GPT2LMHeadModel writes them, with masks and the tied head.
TEST_F(InitialWeightsTest, AGptsFileMayHoldMasksAndItsHead) {
  const auto gpt = [](std::uint64_t seed) {
    return std::make_unique<TextRun>(MemoryOptions{}, Context::Options{.seed = seed}, small_gpt());
  };
  const auto from = gpt(1), to = gpt(2);
  std::vector<StoredTensor> tensors = stored_weights(from->context, from->network(), 0);
  for (StoredTensor& tensor : tensors) tensor.name = "transformer." + tensor.name;
  StoredTensor head = tensors.front();
  ASSERT_EQ(head.name, "transformer.wte.weight");
  head.name = "lm_head.weight";
  StoredTensor mask{.name = "transformer.h.0.attn.bias",
                    .dtype = StoredType::kU8,
                    .shape = {1},
                    .read = [](std::uint64_t, std::span<std::byte> piece) { piece[0] = {}; }};
  tensors.push_back(head);
  tensors.push_back(mask);
  const InitialWeights initial = load_initial_weights(to->context, to->network(), write(tensors));
  EXPECT_THAT(initial.warnings, IsEmpty());
  EXPECT_EQ(initial.loaded, initial.all);
  EXPECT_EQ(parameters_sha256(*to), parameters_sha256(*from));

  tensors.front() = tensors[1];
  tensors.front().name = "transformer.wte.weight";
  tensors.front().shape = head.shape;
  tensors.front().read = [](std::uint64_t, std::span<std::byte> piece) {
    std::ranges::fill(piece, std::byte{});
  };
  write(tensors);
  EXPECT_THAT([&] { load_initial_weights(to->context, to->network(), file_); },
              ThrowsMessage<CheckpointError>(HasSubstr("'lm_head.weight' of")));
}

TEST_F(InitialWeightsTest, OtherFloatsAreConverted) {
  std::vector<StoredTensor> tensors = weights_of(*from_);
  const auto convert = [&](std::size_t index, StoredType type, std::vector<std::byte> bytes) {
    HostCopy copy = host_copy(tensors[index]);
    copy.dtype = type;
    copy.bytes = std::move(bytes);
    tensors[index] = stored(copy);
  };
  const auto bytes_of = [](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  // conv1.bias has 6 elements.
  convert(1, StoredType::kF16,
          bytes_of(std::array<std::uint16_t, 6>{0x3c00, 0xc000, 0x0001, 0x83ff, 0x7bff, 0x8000}));
  convert(3, StoredType::kBF16, bytes_of(std::vector<std::uint16_t>(16, 0xbf80)));
  convert(5, StoredType::kF64, bytes_of(std::vector<double>(120, 0.1)));
  const InitialWeights initial = load(*to_, write(tensors));
  EXPECT_EQ(initial.loaded, 10u);
  EXPECT_THAT(initial.notes, ElementsAre("converted 1 tensor from BF16 to F32",
                                         "converted 1 tensor from F16 to F32",
                                         "converted 1 tensor from F64 to F32"));
  const auto values = [&](std::size_t index) {
    const HostCopy copy = host_copy(weights_of(*to_)[index]);
    std::vector<float> floats(copy.bytes.size() / sizeof(float));
    std::memcpy(floats.data(), copy.bytes.data(), copy.bytes.size());
    return floats;
  };
  EXPECT_THAT(values(1), ElementsAre(1.0f, -2.0f, 0x1p-24f, -0x1.ff8p-15f, 65504.0f, -0.0f));
  EXPECT_THAT(values(3), testing::Each(-1.0f));
  EXPECT_THAT(values(5), testing::Each(0.1f));
}

TEST_F(InitialWeightsTest, OtherTypesAreNamed) {
  std::vector<StoredTensor> tensors = weights_of(*from_);
  for (StoredTensor& tensor : tensors) {
    HostCopy copy = host_copy(tensor);
    copy.bytes.resize(copy.bytes.size() / sizeof(float));
    copy.dtype = tensor.name == "conv1.weight" ? StoredType::kF8E4M3 : StoredType::kI8;
    tensor = stored(copy);
  }
  EXPECT_THAT([&] { load(*to_, write(tensors)); },
              ThrowsMessage<CheckpointError>(HasSubstr("types that are not read: conv1.weight "
                                                       "(F8_E4M3); F32, F16, BF16 and F64 are")));
  tensors[0] = weights_of(*from_)[0];
  EXPECT_THAT(load(*to_, write(tensors)).warnings, ElementsAre(HasSubstr("conv1.bias (I8)")));
}

class Shards : public InitialWeightsTest {
 protected:
  // Writes the tensors in two files and an index.
  void write_shards() {
    const std::vector<StoredTensor> all = weights_of(*from_);
    write_safetensors(folder_ / "a.safetensors", std::span(all).first(4));
    write_safetensors(folder_ / "b.safetensors", std::span(all).subspan(4));
    nlohmann::json map;
    for (std::size_t i = 0; i < all.size(); ++i) {
      map[all[i].name] = i < 4 ? "a.safetensors" : "b.safetensors";
    }
    write_index({{"metadata", {{"total_size", 1}}}, {"weight_map", map}});
  }
  void write_index(const nlohmann::json& index) { write_atomically(index_, index.dump()); }
  void expect_refused(const std::string& why) {
    EXPECT_THAT([&] { load(*to_, index_); }, ThrowsMessage<SafetensorsError>(HasSubstr(why)));
  }

  const std::filesystem::path index_ = folder_ / "model.safetensors.index.json";
};

TEST_F(Shards, AreReadByTheirIndexOrItsFolder) {
  write_shards();
  for (const std::filesystem::path& from : {index_, std::filesystem::path(folder_ / "")}) {
    to_ = lenet(2);
    const InitialWeights initial = load(*to_, from);
    EXPECT_EQ(initial.loaded, 10u);
    EXPECT_THAT(initial.warnings, IsEmpty());
    EXPECT_EQ(parameters_sha256(*to_), parameters_sha256(*from_));
  }
  std::filesystem::rename(index_, folder_ / "other.json");
  EXPECT_EQ(load(*to_, folder_ / "other.json").loaded, 10u) << "its content tells";
  EXPECT_EQ(load(*to_, folder_ / "a.safetensors").loaded, 4u);
}

TEST_F(Shards, ThatAreMissingOrDoubledAreNamed) {
  write_shards();
  std::filesystem::rename(folder_ / "b.safetensors", folder_ / "c.safetensors");
  expect_refused("names 'b.safetensors' for 'fc1.bias', and there is no such file");
  std::filesystem::copy(folder_ / "a.safetensors", folder_ / "b.safetensors");
  expect_refused("is in 'a.safetensors' and in 'b.safetensors'");
  std::filesystem::rename(folder_ / "c.safetensors", folder_ / "b.safetensors");
  nlohmann::json index = nlohmann::json::parse(read_file(index_));
  index["weight_map"]["conv1.weight"] = "b.safetensors";
  write_index(index);
  expect_refused("tensor 'conv1.weight' is not in 'b.safetensors'");
  for (const char* path : {"../a.safetensors", "/etc/passwd", "x/../../a", "", "..", "a/"}) {
    index["weight_map"]["conv1.weight"] = path;
    write_index(index);
    expect_refused("expected a name in the index's folder");
  }
  write_index({{"weight_map", 3}});
  expect_refused("it has no object 'weight_map'");
  write_index({{"weight_map", nlohmann::json::object()}});
  expect_refused("an index without tensors");
}

TEST_F(InitialWeightsTest, FilesOfOtherFormatsAreNamed) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> cases[] = {
      {"PK\x03\x04 rest of a zip"s, "is a zip, as torch.save() writes; PyTorch's pickle"},
      {"\x80\x02}q\x00."s, "save_file(torch.load(\"" + file_.string()},
      {"version https://git-lfs.github.com/spec/v1\noid"s, "git lfs pull"},
      {"\x89HDF\r\n\x1a\n"s, "HDF5"},
      {"\x1f\x8b\x08"s, "gunzip"},
      {"\x08\x07\x12\x07pytorch"s, "ONNX"},
      {"<!DOCTYPE html>"s, "web page"},
      {""s, "is empty"},
      {"{}"s, "it has no object 'weight_map'"},
      {"some text without a header"s, "is not a safetensors file"}};
  for (const auto& [start, why] : cases) {
    write_atomically(file_, start);
    EXPECT_THAT([&] { load(*to_, file_); }, ThrowsMessage<SafetensorsError>(HasSubstr(why)));
  }
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
        "train", "--model",  "lenet",          "--images",  "16", "--steps",
        "1",     "--lr",     "1e-9",           "--threads", "1",  "--batch-size",
        "4",     "--config", few_test_images()};
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
