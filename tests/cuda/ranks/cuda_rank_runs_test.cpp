// Runs of several processes on emulated devices: the program itself, started by mpirun, with a
// library in the place of NCCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/engines/engine_choices.h"
#include "memory/formats/csv/trace_csv.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/small_training.h"
#include "tests/train/parsed_json.h"
#include "tests/train/ranks/run_bits.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

using testing::HasSubstr;

struct Ended {
  int exit_code = 0;
  std::string output;  // and messages
};

Ended run_command(const std::string& command) {
  Ended ended;
  FILE* const output = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> text;
  while (const std::size_t count = fread(text.data(), 1, text.size(), output)) {
    ended.output.append(text.data(), count);
  }
  ended.exit_code = WEXITSTATUS(pclose(output));
  return ended;
}

class CudaRankRuns : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
  }

  // Trains on four cards. `variables` may set others.
  Ended train(const std::string& run, const std::string& options,
              const std::string& variables = {}) const {
    return run_command("SKYLINE_NCCL=" SKYLINE_NCCL_EMULATION " SKYLINE_EMULATED_DEVICES=4 " +
                       variables + " " SKYLINE_PROGRAM " train --device cuda --deterministic " +
                       "--threads 1 --images 96 --batch-size 8 --config " + few_test_images() +
                       " --output " + (folder_ / run).string() + " " + options);
  }
  void train_well(const std::string& run, const std::string& options,
                  const std::string& variables = {}) const {
    const Ended ended = train(run, options, variables);
    ASSERT_EQ(ended.exit_code, 0) << ended.output;
  }

  std::string result(const std::string& run) const { return run_bits(folder_ / run); }

  TemporaryFolder folder_;
};

TEST_F(CudaRankRuns, MakeTheBitsOfAsManyMicroBatches) {
  struct Case {
    std::string options, ranks, sharing = {};
  };
  int number = 0;
  for (const auto& [options, ranks, sharing] :
       {Case{"mlp", "2"}, Case{"mlp --optimizer adam", "3", " --shard-optimizer"},
        Case{"lenet", "3", " --shard-optimizer --fused-update"},
        Case{"lenet --optimizer adam", "2", " --fast-sum"}}) {  // two values have one sum
    SCOPED_TRACE(options);
    const std::string step = "--steps 3 --model " + options, name = std::to_string(++number);
    train_well(name + "one", step + " --micro-batches " + ranks);
    train_well(name + "many", step + " --ranks " + ranks + sharing);
    EXPECT_EQ(result(name + "one"), result(name + "many"));
  }
}

// A missing event shows under one of these.
TEST_F(CudaRankRuns, MakeTheSameBitsInWhateverSequenceStreamsRun) {
  const std::string options = "--steps 3 --model lenet --order program ";
  train_well("one", options + "--micro-batches 2");
  const std::string expected = result("one");
  for (const std::string order : {"others-first", "shuffled"}) {
    train_well(order, options + "--ranks 2", "SKYLINE_EMULATED_STREAMS=" + order);
    EXPECT_EQ(result(order), expected) << order;
  }
  train_well("pool", options + "--ranks 2 --allocator pool");
  EXPECT_EQ(result("pool"), expected);
}

TEST_F(CudaRankRuns, AddInTheOrderOfRanks) {
  const std::string options = "--steps 2 --model mlp --ranks 3";
  train_well("right", options);
  train_well("wrong", options, "SKYLINE_NCCL_FAULT=order");
  EXPECT_NE(result("right"), result("wrong"));
}

TEST_F(CudaRankRuns, RequestWhatADryRunForesees) {
  const std::string model = "lenet";
  train_well("run", "--steps 3 --order program --model " + model + " --ranks 3");
  std::ifstream file(folder_ / "run" / "trace.csv");
  const Trace recorded = read_trace_csv(file, "trace.csv");
  EngineChoices engines;  // within the step's peak, as the run's
  const DryRunFacts facts =
      dry_run({.model = model,
               .shape = find_model(model).shape,
               .batch_size = 8,
               .step = {.order = "program"},
               .ranks = 3,
               .prefetch = true,
               .compute = make_cuda_compute(
                   {.deterministic = true, .engines = &engines, .plan_only = true})});
  std::stringstream foreseen;  // a file holds rounded sizes
  write_trace_csv(foreseen, facts.trace, kAlignmentBytes);
  EXPECT_FALSE(recorded.blocks.empty());
  EXPECT_TRUE(recorded.blocks == read_trace_csv(foreseen, "foreseen").blocks);
}

TEST_F(CudaRankRuns, NeedNccl) {
  const Ended ended = train("run", "--model mlp --ranks 2", "SKYLINE_NCCL=/nowhere/libnccl.so.2");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              HasSubstr("error: [--ranks] CUDA devices need NCCL: /nowhere/libnccl.so.2: cannot "
                        "open shared object file: No such file or directory; install libnccl2"));
}

TEST_F(CudaRankRuns, MustNotMeasureEngines) {
  const Ended ended = train("run", "--model lenet --ranks 2 --engines measured");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("error: --ranks and --engines measured exclude each other"));
}

TEST_F(CudaRankRuns, NeedACardEach) {
  const Ended ended = train("run", "--model mlp --ranks 2", "SKYLINE_EMULATED_DEVICES=1");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.output,
            "error: [--ranks] 2 ranks run on this machine, which has 1 CUDA device: each rank "
            "needs one\n");
}

}  // namespace
}  // namespace skyline
