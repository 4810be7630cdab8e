// Commands under the system's limits, and capacities above what there is.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"

#ifdef SKYLINE_SANITIZED
constexpr bool kSanitized = true;  // the sanitizer's shadow takes terabytes of addresses
#else
constexpr bool kSanitized = false;
#endif

namespace skyline {
namespace {

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

class MemoryLimitsTest : public ::testing::Test {
 protected:
  ~MemoryLimitsTest() override { setrlimit(RLIMIT_AS, &old_); }

  void SetUp() override { getrlimit(RLIMIT_AS, &old_); }
  void permit_more_addresses(std::size_t bytes) {
    const rlimit lower{mapped_bytes() + bytes, old_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
  }
  // Two steps of one epoch.
  Outcome train(const std::string& model, int batch_size, std::vector<std::string> more = {},
                int threads = 1) {
    std::vector<std::string> words = {"train",
                                      "--model",
                                      model,
                                      "--images",
                                      std::to_string(2 * batch_size),
                                      "--batch-size",
                                      std::to_string(batch_size),
                                      "--epochs",
                                      "1",
                                      "--threads",
                                      std::to_string(threads),
                                      "--config",
                                      few_test_images(),
                                      "--out",
                                      folder_ / "run"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }

  TemporaryFolder folder_;
  rlimit old_{};
};

TEST_F(MemoryLimitsTest, TrainsWithinFewAddresses) {
  if (kSanitized) GTEST_SKIP() << "limits of addresses leave no room for a sanitizer's shadow";
  permit_more_addresses(std::size_t{600} << 20);
  const Outcome outcome = train("lenet", 16, {"--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_NE(outcome.messages.find("RLIMIT_AS (ulimit -v) permits"), std::string::npos)
      << outcome.messages;
  EXPECT_EQ(outcome.json()["memory"]["device_allocations_after_switch"], 0);
}

TEST_F(MemoryLimitsTest, NamesTheLimitThatDoesNotSuffice) {
  if (kSanitized) GTEST_SKIP() << "limits of addresses leave no room for a sanitizer's shadow";
  permit_more_addresses(std::size_t{200} << 20);
  const Outcome outcome = train("resnet20", 128);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.messages.find("RLIMIT_AS (ulimit -v)"), std::string::npos) << outcome.messages;
}

TEST_F(MemoryLimitsTest, NamesTheLimitThatLeavesNoRoomForStacks) {
  if (kSanitized) GTEST_SKIP() << "limits of addresses leave no room for a sanitizer's shadow";
  permit_more_addresses(std::size_t{100} << 20);
  const Outcome outcome = train("lenet", 16, {}, 500);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.messages.find("the stacks of 500 threads need"), std::string::npos)
      << outcome.messages;
  EXPECT_NE(outcome.messages.find("RLIMIT_AS (ulimit -v)"), std::string::npos);
}

TEST_F(MemoryLimitsTest, RefusesACapacityAboveWhatThereIs) {
  const Outcome outcome = train("lenet", 16, {"--capacity", "900000GiB"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.messages.find("--capacity"), std::string::npos) << outcome.messages;
  EXPECT_NE(outcome.messages.find("is more than there is: "), std::string::npos)
      << outcome.messages;
  const Outcome compared = skyline_program(
      {"compare", "--model", "lenet", "--steps", "2", "--allocators", "planned,pool@900000GiB"});
  EXPECT_EQ(compared.exit_code, 2);
  EXPECT_NE(compared.messages.find("more than there is"), std::string::npos) << compared.messages;
}

// A warm-up in the pool takes more than the plan.
TEST_F(MemoryLimitsTest, ACapacityThatADryRunFitsTrainsAndResumes) {
  const auto words = [&](const char* run, std::vector<std::string> more) {
    std::vector<std::string> all = {
        "train",    "--model",      "resnet20", "--images",        "64",    "--insize",
        "32",       "--batch-size", "16",       "--threads",       "1",     "--schedule",
        "constant", "--json",       "--config", few_test_images(), "--out", folder_ / run};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto dry = skyline_program({"dry-run", "--model", "resnet20", "--insize", "32",
                                    "--batch-size", "16", "--threads", "1", "--json"})
                       .json()["allocators"];
  const auto planned = dry["planned"]["peak_reserved"].get<std::uint64_t>();
  ASSERT_GT(dry["best-fit-pool"]["peak_reserved"], planned);
  const std::string capacity = std::to_string(planned) + "B";
  const auto free = skyline_program(words("free", {"--steps", "6"})).json();

  const Outcome begun = skyline_program(words("tight", {"--steps", "3", "--capacity", capacity}));
  ASSERT_EQ(begun.exit_code, 0) << begun.messages;
  EXPECT_NE(begun.messages.find("planned from a dry run instead"), std::string::npos)
      << begun.messages;
  EXPECT_EQ(begun.json()["memory"]["peak_reserved"], planned);
  const Outcome resumed =
      skyline_program({"train", "--resume", folder_ / "tight", "--steps", "6", "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.messages;
  EXPECT_EQ(resumed.json()["memory"]["peak_reserved"], planned);
  EXPECT_EQ(resumed.json()["loss"], free["loss"]);
  EXPECT_EQ(resumed.json()["test_loss"], free["test_loss"]);

  const Outcome below = skyline_program(
      words("below", {"--steps", "3", "--capacity", std::to_string(planned - 1) + "B"}));
  EXPECT_EQ(below.exit_code, 1);
  EXPECT_NE(below.messages.find("neither the plan fits nor a warm-up in the pool"),
            std::string::npos)
      << below.messages;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "below"));
}

TEST_F(MemoryLimitsTest, CompareTrainsWithinACapacityThatADryRunFits) {
  const auto planned = skyline_program({"dry-run", "--model", "lenet", "--batch-size", "16",
                                        "--threads", "1", "--json"})
                           .json()["allocators"]["planned"]["peak_reserved"]
                           .get<std::uint64_t>();
  const std::string tight = "planned@" + std::to_string(planned) + "B";
  const Outcome compared = skyline_program({"compare", "--model", "lenet", "--images", "64",
                                            "--batch-size", "16", "--threads", "1", "--steps", "4",
                                            "--allocators", "best-fit-pool," + tight, "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.messages;
  bool found = false;
  const nlohmann::json json = compared.json();
  for (const auto& [name, row] : json["allocators"].items()) {
    if (!name.starts_with("planned")) continue;
    found = true;
    EXPECT_EQ(row["peak_reserved"], planned) << compared.output;
  }
  EXPECT_TRUE(found);
  EXPECT_NE(compared.messages.find("planned from a dry run instead"), std::string::npos);
}

TEST_F(MemoryLimitsTest, ADryRunSaysWhetherTheStepFitsThisMachine) {
  const Outcome small = skyline_program({"dry-run", "--model", "lenet"});
  EXPECT_NE(small.output.find("\nfits       yes: planned takes "), std::string::npos)
      << small.output;
  EXPECT_NE(small.output.find("this machine leaves "), std::string::npos);
  const auto largest = skyline_program({"dry-run", "--model", "resnet20", "--allocators", "planned",
                                        "--batch-size", "1000000", "--json"})
                           .json();
  EXPECT_GT(largest["machine_batch"], 0);
  EXPECT_LT(largest["machine_batch"], 1'000'000);
  const Outcome large =
      skyline_program({"dry-run", "--model", "resnet20", "--batch-size", "1000000"});
  EXPECT_NE(large.output.find("\nfits       no: planned takes "), std::string::npos)
      << large.output;
  const Outcome given = skyline_program({"dry-run", "--model", "lenet", "--device-memory", "1GiB"});
  EXPECT_EQ(given.output.find("this machine"), std::string::npos) << "another device was asked for";
  EXPECT_NE(given.output.find("the device has 1 GiB;\n           the largest batch that fits is "),
            std::string::npos)
      << given.output;
}

TEST_F(MemoryLimitsTest, EvaluateReportsItsProcess) {
  ASSERT_EQ(train("lenet", 16).exit_code, 0);
  const auto written = skyline_program({"evaluate", folder_ / "run", "--json"}).json();
  EXPECT_GT(written["process"]["resident_set"], written["process"]["reserved"]);
  EXPECT_GT(written["process"]["reserved"], 0);
}

}  // namespace
}  // namespace skyline
