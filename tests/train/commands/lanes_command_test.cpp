// --lanes of train and compare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class LanesCommand : public testing::Test {
 protected:
  // Five steps.
  Outcome train(const std::string& run, const Words& more) {
    // Enough steps for lanes to run some.
    Words words = {"train", "--images", "80",       "--batch-size", "4",        "--epochs",
                   "1",     "--json",   "--output", folder_ / run,  "--config", few_test_images()};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  nlohmann::json arguments(const std::string& run) const {
    return parsed_json(read_file(folder_ / (run + "/arguments.json")));
  }
  std::string weights(const std::string& run) const {
    return read_file(folder_ / (run + "/checkpoints/latest/weights.safetensors"));
  }

  TemporaryFolder folder_;
};

TEST_F(LanesCommand, NumbersThatMakeNoSenseAreWrongUsage) {
  const std::string most = std::to_string(omp_get_num_procs());
  const std::string more = std::to_string(omp_get_num_procs() + 1);
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"train", "--lanes", "0"}, "--lanes: 0 is out of range: it must be from 1 to 1024"},
      {{"compare", "--lanes", "0"}, "--lanes: 0 is out of range"},
      {{"train", "--lanes", "all"}, "--lanes: 'all' is not a whole number"},
      {{"train", "--lanes", more},
       "--lanes " + more + " is more than the " + most + " cores of this machine"},
      {{"train", "--lanes", "2", "--device", "cuda"},
       "--lanes 2 needs --device cpu: CUDA runs its ops on one lane"},
      {{"compare", "--lanes", "auto", "--device", "cuda"}, "--lanes auto needs --device cpu"},
  };
  for (const auto& [words, sentence] : cases) {
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << sentence;
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
  }
}

TEST_F(LanesCommand, ChangeNoBitAndMayChangeWhenARunGoesOn) {
  if (omp_get_num_procs() < 2) GTEST_SKIP() << "two lanes need two cores";
  const Outcome one = train("one", {}), two = train("two", {"--lanes", "2"});
  EXPECT_EQ(one.json()["lanes"], 1);
  EXPECT_EQ(two.json()["lanes"], 2) << two.messages;
  EXPECT_EQ(two.json()["threads"], 1);
  EXPECT_EQ(two.json()["loss"], one.json()["loss"]);
  EXPECT_EQ(arguments("two")["lanes"], 2);
  const Words more = {"--epochs", "2", "--json"};
  Words with_one = {"train", "--resume", folder_ / "two", "--lanes", "1"};
  Words with_two = {"train", "--resume", folder_ / "one", "--lanes", "2"};
  with_one.insert(with_one.end(), more.begin(), more.end());
  with_two.insert(with_two.end(), more.begin(), more.end());
  EXPECT_EQ(skyline_program(with_one).json()["loss"], skyline_program(with_two).json()["loss"]);
  EXPECT_EQ(weights("one"), weights("two"));
}

TEST_F(LanesCommand, CompareRunsOnLanes) {
  if (omp_get_num_procs() < 2) GTEST_SKIP() << "two lanes need two cores";
  const auto compare = [](const std::string& lanes) {
    const Outcome outcome = skyline_program(
        {"compare", "--images", "40", "--batch-size", "4", "--steps", "12", "--allocators",
         "planned,caching,network-wise", "--lanes", lanes, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    return outcome.json();
  };
  const nlohmann::json two = compare("2");
  EXPECT_EQ(two["bit_equal"], true);
  EXPECT_EQ(two["lanes"], 2);
  EXPECT_EQ(two["allocators"]["planned"]["losses"],
            compare("1")["allocators"]["planned"]["losses"]);
}

TEST_F(LanesCommand, AutoTakesTheFastestAndStoresIt) {
  const Outcome outcome = train("run", {"--lanes", "auto"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("--lanes auto: 1 lane of 1 thread "));
  const nlohmann::json stored = arguments("run");
  EXPECT_THAT(stored["lanes"].get<int>(), testing::Ge(1));
  EXPECT_EQ(outcome.json()["lanes"], stored["lanes"]);
  EXPECT_EQ(outcome.json()["threads"], stored["threads"]);
  const Outcome again = train("again", {"--lanes", std::to_string(stored["lanes"].get<int>()),
                                        "--threads", std::to_string(stored["threads"].get<int>())});
  EXPECT_EQ(weights("again"), weights("run")) << "the trial left no trace";
}

TEST_F(LanesCommand, AutoKeepsTheThreadsThatAreGiven) {
  const Outcome outcome = train("run", {"--lanes", "auto", "--threads", "1"});
  EXPECT_EQ(outcome.json()["threads"], 1);
  const Outcome one = train("one", {"--threads", "1"});
  EXPECT_EQ(weights("run"), weights("one"));
}

}  // namespace
}  // namespace skyline
