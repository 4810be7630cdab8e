// Checkpoints of runs on a CUDA device must load on a machine without one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"

namespace skyline {
namespace {

using Words = std::vector<std::string>;

class CheckpointDevice : public ::testing::Test {
 protected:
  // Trains one step and stores arguments in its checkpoint as if a CUDA device had run it.
  void train(Words words) {
    words.insert(words.end(), {"--steps", "1", "--batch-size", "4", "--threads", "1"});
    words.insert(words.end(), {"--out", run()});
    const Outcome outcome = skyline_program(words);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
    Checkpoint checkpoint = load_checkpoint(run()).checkpoint;
    auto& arguments = *checkpoint.position.arguments;
    arguments["device"] = "cuda";
    arguments["allocator"] = "cuda-async";
    arguments["capacity"] = 1;
    arguments["tf32"] = true;
    arguments["workspace"] = 8 << 20;
    arguments["engines"] = (folder_ / "gone.json").string();
    CheckpointStore(folder_ / "run/checkpoints").save(checkpoint);
  }
  std::string run() const { return (folder_ / "run").string(); }

  void expect_read_on_the_cpu(const Words& command) {
    EXPECT_NE(skyline_program(command).exit_code, 0);
    Words here = command;
    here.insert(here.end(), {"--device", "cpu"});
    const Outcome outcome = skyline_program(here);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  }

  TemporaryFolder folder_;
};

TEST_F(CheckpointDevice, EvaluateReadsThem) {
  train({"train", "--model", "mlp", "--images", "10"});
  expect_read_on_the_cpu({"evaluate", run()});
}

TEST_F(CheckpointDevice, TranslateReadsThem) {
  train({"train", "--model", "seq2seq", "--units", "4", "--pairs", "40", "--val-pairs", "4"});
  expect_read_on_the_cpu({"translate", run(), "one"});
}

}  // namespace
}  // namespace skyline
