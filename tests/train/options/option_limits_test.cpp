// Values that would fill the memory or never end are wrong usage, or fail at once with what they
// would take and what there is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

TEST(OptionLimits, ValuesOutOfTheirRangeAreWrongUsage) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"train", "--images", "1000000000"},
       "--images: 1000000000 is out of range: it must be from "
       "10 to 10000000"},
      {{"train", "--model", "seq2seq", "--pairs", "1000000000"}, "it must be from 1 to 10000000"},
      {{"train", "--decode-threads", "4096"}, "it must be from 0 to 1024"},
      {{"train", "--threads", "4096"},
       "--threads: 4096 is out of range: it must be from 0 to 1024"},
      {{"dry-run", "--threads", "4096"}, "--threads: 4096 is out of range"},
      {{"evaluate", "run", "--threads", "4096"}, "--threads: 4096 is out of range"},
      {{"translate", "run", "--threads", "4096"}, "--threads: 4096 is out of range"},
      {{"train", "--epochs", "1000000000000"}, "--epochs: 1000000000000 is out of range"},
      {{"train", "--steps", "4611686018427387904"}, "--steps: 4611686018427387904 is out of range"},
      {{"train", "--batch-size", "4611686018427387904"}, "--batch-size: "},
      {{"predict", "run", "a.png", "--top", "0"}, "--top: 0 is out of range"},
  };
  for (const auto& [words, sentence] : cases) {
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << words[1];
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
  }
}

// What would be accepted in silence and do nothing.
TEST(OptionLimits, OptionsThatTheDataOrTheOptimizerDoesNotUseAreWrongUsage) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"train", "--optimizer", "adam", "--momentum", "0.5"}, "--momentum is for --optimizer sgd"},
      {{"compare", "--optimizer", "adam", "--weight-decay", "0"}, "--weight-decay is for"},
      {{"train", "--model", "seq2seq", "--momentum", "0.5"}, "--momentum is for --optimizer sgd"},
      {{"train", "--data", "folder", "--images", "20"}, "--images is for --data shapes"},
      {{"train", "--mean", "none"}, "--mean is for image files"},
      {{"train", "--deviation", "1,1,1"}, "--deviation is for image files"},
      {{"train", "--no-mirror"}, "--no-mirror is for image files"},
      {{"train", "--val-split", "0.1"}, "--val-split is for image files"},
      {{"train", "--resize", "40"}, "--resize is for image files"},
      {{"compare", "--strict"}, "--strict is for image files"},
      {{"train", "--model", "seq2seq", "--source", "a", "--target", "b", "--val-source", "a",
        "--val-target", "b", "--pairs", "20"},
       "--pairs is for --data numbers and would do nothing here"},
  };
  for (const auto& [words, sentence] : cases) {
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << sentence;
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
  }
}

TEST(OptionLimits, MoreThreadsThanProcessorsAreWarnedOf) {
  const int processors = omp_get_num_procs();
  const auto messages_with = [](int threads) {  // fails before anything trains
    return skyline_program(
               {"train", "--data", "/no such folder", "--threads", std::to_string(threads)})
        .messages;
  };
  EXPECT_THAT(messages_with(processors + 1),
              HasSubstr("warning: " + std::to_string(processors + 1) + " threads on " +
                        std::to_string(processors) + " processors: steps may take many times"));
  EXPECT_THAT(messages_with(processors), Not(HasSubstr("processors")));
}

TEST(OptionLimits, BatchesThatNoMemoryHoldsFailBeforeARunFolderIsMade) {
  const TemporaryFolder folder;
  const std::string out = (folder / "run").string();
  const Outcome outcome =
      skyline_program({"train", "--model", "resnet18", "--insize", "1024", "--images", "10000000",
                       "--batch-size", "9000000", "--out", out});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages, HasSubstr("reading a batch of 9000000 images takes "));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(OptionLimits, AMeanImageThatNoMemoryHoldsFailsAtOnce) {
  const TemporaryFolder folder;
  tests::write_image_folder(folder / "images", 4, 2);
  Words words = {
      "train", "--data", (folder / "images").string(), "--resize",         "65536", "--batch-size",
      "2",     "--out",  (folder / "run").string(),    "--decode-threads", "64"};
  const Outcome outcome = skyline_program(words);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages, HasSubstr("summing the mean image takes "));
}

}  // namespace
}  // namespace skyline
