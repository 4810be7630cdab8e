// A dry run with the engines of a run on the card foresees its step to the byte: what the arena
// reserves, and each request. As everywhere, through the program itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/images/idx_bytes.h"
#include "tests/data/images/image_files.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using Words = std::vector<std::string>;

class CudaDryRun : public testing::Test {
 protected:
  void SetUp() override {
    write_images(28);
    tests::write_text(text_,
                      "one two three four\tun deux trois quatre\n"
                      "four three two one\tquatre trois deux un\n");
  }

  // Images of so many pixels a side.
  void write_images(std::uint32_t side) const {
    for (const auto& [split, count] : {std::pair("train", 16u), std::pair("t10k", 2u)}) {
      const std::string prefix = folder_ / split;
      Bytes images(count * side * side), labels(count);
      for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::uint8_t>(7 * i);
      for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::uint8_t>(i % 3);
      tests::write_file(prefix + "-images-idx3-ubyte", idx_bytes({count, side, side}, images));
      tests::write_file(prefix + "-labels-idx1-ubyte", idx_bytes({count}, labels));
    }
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  // Both get the options. `engines` is the run whose engines are used.
  void expect_foreseen(const Words& options, Words training, Words shape,
                       const std::string& engines) {
    training.insert(training.begin(), "train");
    training.insert(training.end(), {"--steps", "3", "--output", path("run"), "--json"});
    training.insert(training.end(), options.begin(), options.end());
    const Outcome trained = skyline_program(training);
    ASSERT_EQ(trained.exit_code, 0) << trained.messages;
    shape.insert(shape.begin(), "dry-run");
    shape.insert(shape.end(), {"--engines", path(engines) + "/engines.json", "--allocators",
                               "planned", "--write-trace", path("dry.csv"), "--json"});
    shape.insert(shape.end(), options.begin(), options.end());
    const Outcome foreseen = skyline_program(shape);
    ASSERT_EQ(foreseen.exit_code, 0) << foreseen.messages;

    const nlohmann::json run = trained.json(), dry = foreseen.json();
    EXPECT_EQ(run["trace_recorded"], true);
    EXPECT_EQ(run["memory"]["deviations"], 0);
    EXPECT_EQ(run["memory"]["peak_reserved_after_switch"],
              dry["allocators"]["planned"]["peak_reserved"]);
    EXPECT_EQ(run["memory"]["peak"], dry["peak"]);
    EXPECT_EQ(read_file(path("run/trace.csv")), read_file(path("dry.csv")));
  }

  TemporaryFolder folder_;
  const std::string text_ = path("text.tsv");
};

TEST_F(CudaDryRun, ForeseesEachRequestOfImages) {
  expect_foreseen({"--model", "lenet", "--batch-size", "4", "--device", "cuda"},
                  {"--data", folder_.path()}, {"--classes", "3", "--channels", "1"}, "run");
}

TEST_F(CudaDryRun, ForeseesEachRequestWithEveryOption) {
  expect_foreseen({"--model", "lenet", "--batch-size", "4", "--device", "cuda", "--deterministic",
                   "--no-prefetch", "--fused-update", "--recompute", "4", "--workspace", "1MiB"},
                  {"--data", folder_.path()}, {"--classes", "3", "--channels", "1"}, "run");
}

// The gradient of the first weight is one, of 17 MB: where a step saves bytes, no moment is fuller.
TEST_F(CudaDryRun, ForeseesTheWorkspaceOfALargeProduct) {
  write_images(129);
  const std::string without = path("without"), given = path("given.json");
  ASSERT_EQ(skyline_program({"train", "--model", "mlp", "--batch-size", "8", "--device", "cuda",
                             "--data", folder_.path(), "--steps", "1", "--output", without})
                .exit_code,
            0);
  nlohmann::json engines = parsed_json(read_file(without + "/engines.json"));
  auto& bytes = engines["engines"]["product of 256 x 8 and 8 x 16641"]["workspace_bytes"];
  EXPECT_EQ(bytes, 0u);
  bytes = 1 << 20;
  tests::write_text(given, engines.dump());
  expect_foreseen({"--model", "mlp", "--batch-size", "8", "--device", "cuda"},
                  {"--data", folder_.path(), "--engines", given},
                  {"--classes", "3", "--channels", "1", "--insize", "129"}, "run");
  EXPECT_NE(read_file(path("run/trace.csv")).find(",1048576,"), std::string::npos);
}

// A device of one byte less than the step, one more batch and its warm-up need.
TEST_F(CudaDryRun, ForeseesThatARunLeavesOutPrefetching) {
  const Words lenet = {"--model", "lenet", "--batch-size", "4", "--device", "cuda"};
  Words training = lenet;
  training.insert(training.begin(), "train");
  training.insert(training.end(), {"--data", folder_.path(), "--steps", "3", "--output"});
  const auto trained = [&](const std::string& run, const Words& more) {
    Words words = training;
    words.push_back(path(run));
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  };
  const auto foreseen = [&](const Words& more) {
    Words words = lenet;
    words.insert(words.begin(), "dry-run");
    words.insert(words.end(),
                 {"--classes", "3", "--channels", "1", "--allocators", "best-fit-pool,planned",
                  "--json", "--engines", path("endless") + "/engines.json"});
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words).json();
  };
  const std::string left_out = "no room for one more batch";
  const Outcome endless = trained("endless", {});
  ASSERT_EQ(endless.exit_code, 0) << endless.messages;
  EXPECT_EQ(endless.messages.find(left_out), std::string::npos);
  const nlohmann::json with = foreseen({})["allocators"];
  const nlohmann::json without = foreseen({"--no-prefetch"})["allocators"];
  EXPECT_GT(with["planned"]["peak_reserved"], without["planned"]["peak_reserved"]);
  const auto least = std::max(with["planned"]["peak_reserved"].get<std::uint64_t>(),
                              with["best-fit-pool"]["peak_reserved"].get<std::uint64_t>());
  const std::string capacity = std::to_string(least - 1);
  const Outcome tight = trained("tight", {"--capacity", capacity});
  EXPECT_EQ(tight.exit_code, 0) << tight.messages;
  EXPECT_NE(tight.messages.find(left_out), std::string::npos) << tight.messages;
  EXPECT_EQ(foreseen({"--device-memory", capacity})["allocators"]["planned"]["peak_reserved"],
            without["planned"]["peak_reserved"]);
}

// Sentences of one length, because a dry run has no others. The text has no convolutions: the card
// comes from a run that has.
TEST_F(CudaDryRun, ForeseesEachRequestOfText) {
  ASSERT_EQ(skyline_program({"train", "--model", "lenet", "--batch-size", "4", "--device", "cuda",
                             "--steps", "1", "--data", folder_.path(), "--output", path("images")})
                .exit_code,
            0);
  expect_foreseen({"--model", "seq2seq", "--batch-size", "2", "--units", "8", "--device", "cuda"},
                  {"--data", text_, "--val-data", text_, "--policy", "grow"},
                  {"--sentence-words", "4", "--vocab-size", "6"}, "images");
}

}  // namespace
}  // namespace skyline
