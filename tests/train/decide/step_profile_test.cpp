#include "train/decide/step_seconds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/train/temporary_folder.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const ProfileKey kKey{.model = "lenet", .device = "cpu", .batch_size = 8, .threads = 1};

OpTime conv(double seconds) { return {"conv2d", "conv1", Phase::kForward, seconds}; }

// A step with two ops of one name and layer, and a view.
RecordedStep step_of_two() {
  RecordedStep step;
  step.graph.values.resize(3);
  for (ValueId id = 0; id < 3; ++id) step.graph.values[id].storage = id == 2 ? 1 : id;
  for (const ValueId output : {0u, 1u}) {
    step.graph.ops.push_back({.name = "conv2d", .layer = "conv1", .outputs = {output}});
  }
  step.graph.ops.push_back({.name = "reshape", .layer = "conv1", .inputs = {1}, .outputs = {2}});
  return step;
}

class StepProfileTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) const {
    std::ofstream(folder_.path() / kProfileFile) << text;
    return folder_.path();
  }
  const TemporaryFolder folder_;
};

TEST_F(StepProfileTest, KeepsTheLeastOfEachOpsTurns) {
  StepProfile profile(kKey);
  profile.add({conv(3), conv(5)});
  profile.add({conv(4), conv(2)});
  EXPECT_EQ(profile.steps(), 2);
  EXPECT_EQ(profile.seconds(step_of_two()), (std::vector<double>{3, 2, 0}));
}

TEST_F(StepProfileTest, ComesBackFromARunFolderAndFromItsFile) {
  StepProfile profile(kKey);
  profile.add({conv(0.25), conv(0.5)});
  const std::filesystem::path folder = write(profile.json().dump());
  for (const std::filesystem::path& path : {folder, folder / kProfileFile}) {
    const StepProfile read = StepProfile::read(path, kKey);
    EXPECT_EQ(read.steps(), 1);
    EXPECT_EQ(read.seconds(step_of_two()), (std::vector<double>{0.25, 0.5, 0}));
  }
}

TEST_F(StepProfileTest, NamesAnOpThatWasNotMeasured) {
  StepProfile profile(kKey);
  profile.add({conv(1)});
  EXPECT_THAT([&] { profile.seconds(step_of_two()); },
              ThrowsMessage<UsageError>(HasSubstr("the profile lacks conv2d of conv1 in forward")));
}

TEST_F(StepProfileTest, HasNoSecondsOfSumsOverRanks) {
  StepProfile profile(kKey);
  profile.add({conv(3), conv(5)});
  RecordedStep step = step_of_two();
  step.graph.ops.push_back({.name = "begin_rank_sum"});
  step.graph.ops.push_back({.name = "wait_rank_sum"});
  EXPECT_EQ(profile.seconds(step), (std::vector<double>{3, 5, 0, 0, 0}));
}

TEST_F(StepProfileTest, OfSomethingElseIsRefused) {
  const std::filesystem::path folder = write(StepProfile(kKey).json().dump());
  ProfileKey other = kKey;
  other.batch_size = 16;
  EXPECT_THAT(
      [&] { StepProfile::read(folder, other); },
      ThrowsMessage<UsageError>(HasSubstr(
          "measured for lenet on cpu, batch 8, 1 threads, not for lenet on cpu, batch 16")));
}

TEST_F(StepProfileTest, DamagedIsRefused) {
  const auto reading = [&](const std::string& text) {
    const std::filesystem::path folder = write(text);
    return [folder] { StepProfile::read(folder, kKey); };
  };
  nlohmann::ordered_json json = StepProfile(kKey).json();
  EXPECT_THAT(reading("{"), ThrowsMessage<UsageError>(HasSubstr("is not JSON at byte 2")));
  EXPECT_THAT(reading(std::string(100'000, '[') + std::string(100'000, ']')),
              ThrowsMessage<UsageError>(HasSubstr("is nested deeper than 100 levels")));
  EXPECT_THAT(reading("[]"), ThrowsMessage<UsageError>(HasSubstr("is damaged")));
  json["ops"] = {{{"phase", "forward"}, {"op", "conv2d"}, {"layer", ""}, {"seconds", {-1}}}};
  EXPECT_THAT(reading(json.dump()), ThrowsMessage<UsageError>(HasSubstr("-1 seconds are no time")));
  json["ops"] = 3;
  EXPECT_THAT(reading(json.dump()), ThrowsMessage<UsageError>(HasSubstr("is damaged")));
  EXPECT_THAT([&] { StepProfile::read(folder_.path() / "none", kKey); },
              ThrowsMessage<UsageError>(HasSubstr("cannot read")));
}

}  // namespace
}  // namespace skyline
