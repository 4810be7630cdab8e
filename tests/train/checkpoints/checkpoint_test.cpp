#include "train/checkpoints/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/train/checkpoints/file_size_limit.h"
#include "tests/train/checkpoints/numbered_checkpoint.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : store_(checkpoints_) {}

  void save(std::int64_t step) { store_.save(numbered_checkpoint(step)); }
  std::int64_t loaded_step() {
    const LoadedCheckpoint loaded = load_checkpoint(folder_.path());
    warnings_ = loaded.warnings;
    return consistent_step(loaded.checkpoint);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(checkpoints_)) {
      found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  }
  void damage(const std::string& file) const {
    std::fstream stream(checkpoints_ / file, std::ios::in | std::ios::out);
    stream.seekp(-1, std::ios::end);
    stream.put('?');
    ASSERT_TRUE(stream.good()) << file;
  }

  // Replaces a field of a saved position by JSON, with sums that fit.
  void edit_position(std::int64_t step, const std::string& field, const std::string& value) const {
    const fs::path folder = checkpoints_ / fmt::format("step-{:09}", step);
    Safetensors state = read_safetensors(folder / "state.safetensors");
    Json position = Json::parse(state.metadata.at("skyline.position"));
    position[field] = Json::parse(value);
    state.metadata["skyline.position"] = position.dump();
    write_safetensors(folder / "state.safetensors", state.tensors, state.metadata);
    sum_again(folder);
  }
  // Replaces value 7 of a saved weight, with sums that fit.
  void edit_weight(std::int64_t step, float value) const {
    const fs::path folder = checkpoints_ / fmt::format("step-{:09}", step);
    Safetensors weights = read_safetensors(folder / "weights.safetensors");
    weights.tensors[1] = with_value(weights.tensors[1], value);
    write_safetensors(folder / "weights.safetensors", weights.tensors, weights.metadata);
    sum_again(folder);
  }
  static StoredTensor with_value(const StoredTensor& tensor, float value) {
    HostCopy copy = host_copy(tensor);
    std::memcpy(&copy.bytes[7 * sizeof value], &value, sizeof value);
    return stored(copy);
  }
  static void sum_again(const fs::path& folder) {
    std::ofstream sums(folder / "SHA256SUMS");
    for (const char* name : {"weights.safetensors", "state.safetensors"}) {
      sums << file_sha256(folder / name) << "  " << name << '\n';
    }
  }

  TemporaryFolder folder_;  // the run's
  fs::path checkpoints_ = folder_ / "checkpoints";
  CheckpointStore store_;
  std::vector<std::string> warnings_;
};

TEST_F(CheckpointTest, LoadsWhatItSaved) {
  Checkpoint saved = numbered_checkpoint(7);
  saved.position = {
      .step = 7,
      .epoch = 2,
      .batch = 3,
      .order_seed = std::numeric_limits<std::uint64_t>::max(),
      .random_seed = 5,
      .random_next = std::uint64_t{1} << 63,
      .best = {{"top1", 0.1}, {"loss", 1.0 / 3}},
      .loss_sum = 1e-300,
      .last_loss = 1.0 / 3,
      .evaluation = StoredEvaluation{.step = 6, .text = "a", .metrics = {{"top1", 0.1}}},
      .data = Json{{"classes", {"a", "b"}}},
      .arguments = Json{{"model", "lenet"}, {"batch_size", 32}}};
  const fs::path path = store_.save(saved);
  EXPECT_EQ(path, checkpoints_ / "step-000000007");
  for (const fs::path& from : {folder_.path(), checkpoints_, path, checkpoints_ / "latest"}) {
    const LoadedCheckpoint loaded = load_checkpoint(from);
    EXPECT_EQ(host_copies(loaded.checkpoint.weights), host_copies(saved.weights));
    EXPECT_EQ(host_copies(loaded.checkpoint.state), host_copies(saved.state));
    EXPECT_EQ(loaded.checkpoint.position, saved.position);
    EXPECT_THAT(loaded.warnings, IsEmpty());
  }
}

TEST_F(CheckpointTest, KeepsNotANumberAmongTheMetrics) {
  Checkpoint saved = numbered_checkpoint(1);
  saved.position.best = {{"loss", std::nan("")}};
  store_.save(saved);
  EXPECT_TRUE(std::isnan(load_checkpoint(folder_.path()).checkpoint.position.best.at("loss")));
}

TEST_F(CheckpointTest, WeightsAreAPlainSafetensorsFile) {
  save(3);
  const Safetensors weights = read_safetensors(checkpoints_ / "latest/weights.safetensors");
  EXPECT_EQ(host_copies(weights.tensors), host_copies(numbered_checkpoint(3).weights));
}

TEST_F(CheckpointTest, KeepsTheLastTwo) {
  for (const int step : {1, 2, 3, 1000000000}) save(step);
  EXPECT_THAT(names(), ElementsAre("latest", "step-000000003", "step-1000000000"));
  EXPECT_EQ(loaded_step(), 1000000000);
}

TEST_F(CheckpointTest, ADamagedOneFallsBackWithAWarning) {
  for (const char* file : {"weights.safetensors", "state.safetensors", "SHA256SUMS"}) {
    save(1);
    save(2);
    damage("step-000000002/" + std::string(file));
    EXPECT_EQ(loaded_step(), 1) << file;
    ASSERT_THAT(warnings_, SizeIs(1));
    EXPECT_THAT(warnings_[0], HasSubstr("skipped the checkpoint step-000000002"));
    EXPECT_THAT(warnings_[0], HasSubstr("is damaged"));
  }
}

TEST_F(CheckpointTest, AMissingFileFallsBackToo) {
  for (const char* file : {"weights.safetensors", "state.safetensors", "SHA256SUMS"}) {
    save(1);
    save(2);
    fs::remove(checkpoints_ / "step-000000002" / file);
    EXPECT_EQ(loaded_step(), 1) << file;
    EXPECT_THAT(warnings_, SizeIs(1));
  }
}

TEST_F(CheckpointTest, AWeightThatIsNotFiniteFallsBackAndIsNamed) {
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    save(1);
    save(2);
    edit_weight(2, value);
    EXPECT_EQ(loaded_step(), 1);
    ASSERT_THAT(warnings_, SizeIs(1));
    EXPECT_THAT(warnings_[0], HasSubstr(fmt::format("tensor 'bias': value 7 is {}", value)));
    EXPECT_THROW(load_checkpoint(checkpoints_ / "step-000000002"), SafetensorsError);
    edit_weight(2, 1e30f);
    EXPECT_EQ(load_checkpoint(folder_.path()).checkpoint.position.step, 2);
  }
}

TEST_F(CheckpointTest, APositionThatCannotBeFallsBackAndItsFieldIsNamed) {
  const std::string counts = "whole number from 0 to 1000000000000000";
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"step", "-1", "step is -1, expected a " + counts},
      {"step", "4611686018427387904", "step is 4611686018427387904, expected a " + counts},
      {"step", "1e30", "step is 1e+30"},
      {"step", "1.5", "step is 1.5"},
      {"step", "null", "step is null"},
      {"epoch", "-1", "epoch is -1"},
      {"epoch", "3", "epoch is 3, expected a whole number from 0 to 2"},
      {"batch", "-9223372036854775808", "batch is -9223372036854775808"},
      {"batch", "3", "batch is 3, expected a whole number from 0 to 2"},
      {"order_seed", "-5", "order_seed is -5"},
      {"random_seed", "0.5", "random_seed is 0.5"},
      {"random_next", "-1", "random_next is -1"},
      {"best", "[]", "best is [], expected an object"},
      {"best", "{\"top1\": \"high\"}", "type must be number"},
      {"more", "7", "more is 7, expected an object"},
      {"more", "{\"a\":" + std::string(200, '[') + std::string(200, ']') + "}",
       "is not valid: is nested deeper than 100 levels"},
      {"arguments", "null", "arguments is null, expected an object"}};
  for (const auto& [field, value, said] : cases) {
    save(1);
    save(2);
    edit_position(2, field, value);
    EXPECT_EQ(loaded_step(), 1) << field << ' ' << value;
    ASSERT_THAT(warnings_, SizeIs(1)) << field << ' ' << value;
    EXPECT_THAT(warnings_[0], HasSubstr(said));
  }
}

TEST_F(CheckpointTest, WhatIsNotFiniteIsNotSavedSoThatAnEarlierOneRemains) {
  save(1);
  for (const bool of_state : {false, true}) {
    Checkpoint checkpoint = numbered_checkpoint(2);
    StoredTensor& tensor = of_state ? checkpoint.state[0] : checkpoint.weights[1];
    tensor = with_value(tensor, std::nanf(""));
    EXPECT_THAT(
        [&] { store_.save(checkpoint); },
        ThrowsMessage<CheckpointError>(HasSubstr(
            of_state ? "step 2 is not saved: state.safetensors: tensor 'velocity': value 7"
                     : "step 2 is not saved: weights.safetensors: tensor 'bias': value 7")));
    EXPECT_THAT(names(), ElementsAre("latest", "step-000000001"));
  }
}

// Nobody copies a whole tensor: not the one that saves, checks or loads.
TEST_F(CheckpointTest, TensorsMoveInPieces) {
  Checkpoint checkpoint = numbered_checkpoint(1);
  std::size_t largest = 0, bytes = 0;
  checkpoint.weights[0].shape = {1'000'000};
  checkpoint.weights[0].read = [&](std::uint64_t offset, std::span<std::byte> piece) {
    EXPECT_EQ(offset, bytes);
    bytes += piece.size();
    largest = std::max(largest, piece.size());
    std::ranges::fill(piece, std::byte{1});
  };
  store_.save(checkpoint);
  EXPECT_EQ(bytes, 4'000'000u);
  EXPECT_EQ(largest, kStoredPieceBytes);
}

TEST_F(CheckpointTest, APipeInPlaceOfAFileIsDamage) {
  save(1);
  save(2);
  const fs::path file = checkpoints_ / "step-000000002/weights.safetensors";
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(loaded_step(), 1);
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0], HasSubstr("weights.safetensors: it is a pipe, not a file"));
}

TEST_F(CheckpointTest, SaysWhyNoneCanBeLoaded) {
  EXPECT_THAT([&] { load_checkpoint(folder_ / "none"); },
              ThrowsMessage<UsageError>(HasSubstr("not a run folder or checkpoint: '")));
  EXPECT_THAT([&] { load_checkpoint(folder_.path()); },
              ThrowsMessage<CheckpointError>(HasSubstr("contains no checkpoint")));
  save(1);
  damage("step-000000001/state.safetensors");
  EXPECT_THAT([&] { load_checkpoint(folder_.path()); },
              ThrowsMessage<CheckpointError>(HasSubstr("state.safetensors is damaged")));
  EXPECT_THROW(load_checkpoint(checkpoints_ / "step-000000001"), CheckpointError);
}

TEST_F(CheckpointTest, RefusesAForeignState) {
  save(1);
  const fs::path folder = checkpoints_ / "step-000000001";
  fs::copy_file(folder / "weights.safetensors", folder / "state.safetensors",
                fs::copy_options::overwrite_existing);
  fs::remove(folder / "SHA256SUMS");
  EXPECT_THAT([&] { load_checkpoint(folder); },
              ThrowsMessage<std::runtime_error>(HasSubstr("SHA256SUMS")));
}

// Imitates kills between the steps of save().
TEST_F(CheckpointTest, LoadsDespiteTheLeftoversOfAKilledSave) {
  save(1);
  fs::create_directory(checkpoints_ / "step-000000002.tmp");
  std::ofstream(checkpoints_ / "step-000000002.tmp/weights.safetensors") << "half";
  EXPECT_EQ(loaded_step(), 1);
  EXPECT_THAT(warnings_, IsEmpty());

  save(2);  // renamed, but `latest` still points to step 1
  fs::remove(checkpoints_ / "latest");
  fs::create_directory_symlink("step-000000001", checkpoints_ / "latest");
  fs::create_directory_symlink("step-000000002", checkpoints_ / "latest.tmp");
  EXPECT_EQ(loaded_step(), 1);

  save(3);
  EXPECT_EQ(loaded_step(), 3);
  EXPECT_THAT(names(), ElementsAre("latest", "step-000000002", "step-000000003"));
}

TEST_F(CheckpointTest, LeavesWhatTheUserKeepsBesideTheCheckpoints) {
  save(1);
  const std::vector<std::string> kept = {"notes.tmp", "precious.tmp", "step-1.tmp",
                                         "step-000000001.txt", "latest.tmp.tmp"};
  for (const std::string& name : kept) fs::create_directory(checkpoints_ / name);
  fs::create_directory(checkpoints_ / "step-000000009-2.tmp");
  save(2);
  std::vector<std::string> expected = kept;
  expected.insert(expected.end(), {"latest", "step-000000001", "step-000000002"});
  EXPECT_THAT(names(), testing::UnorderedElementsAreArray(expected));
}

TEST_F(CheckpointTest, WorksWithoutThePointer) {
  save(1);
  save(2);
  fs::remove(checkpoints_ / "latest");
  EXPECT_EQ(loaded_step(), 2);
}

TEST_F(CheckpointTest, SavingAStepAgainReplacesTheOldOneOnlyAfterwards) {
  save(1);
  save(2);
  EXPECT_EQ(store_.save(numbered_checkpoint(2)).filename(), "step-000000002-2");
  EXPECT_THAT(names(), ElementsAre("latest", "step-000000001", "step-000000002-2"));
  EXPECT_EQ(loaded_step(), 2);
  EXPECT_EQ(store_.save(numbered_checkpoint(2)).filename(), "step-000000002");
  EXPECT_EQ(loaded_step(), 2);
}

TEST_F(CheckpointTest, GoingOnFromAnEarlierStepForgetsTheLaterOnes) {
  for (const int step : {10, 20}) save(step);
  save(15);
  EXPECT_THAT(names(), ElementsAre("latest", "step-000000010", "step-000000015"));
  EXPECT_EQ(loaded_step(), 15);
}

TEST_F(CheckpointTest, AFullDiskLeavesTheLastOneAndNothingHalf) {
  save(1);
  {
    const FileSizeLimit limit(1000);
    EXPECT_THROW(save(2), WriteError);
  }
  EXPECT_THAT(names(), ElementsAre("latest", "step-000000001"));
  EXPECT_EQ(loaded_step(), 1);
  save(2);
  EXPECT_EQ(loaded_step(), 2);
}

TEST_F(CheckpointTest, LeavesOtherFilesAlone) {
  fs::create_directories(checkpoints_);
  for (const char* name : {"step-", "step-1", "step--00000001", "step-000000001x", "notes"}) {
    std::ofstream(checkpoints_ / name) << "mine";
  }
  save(1);
  EXPECT_EQ(loaded_step(), 1);
  EXPECT_THAT(names(), SizeIs(7));
}

}  // namespace
}  // namespace skyline
