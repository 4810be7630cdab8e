// The report of a run shows all of its steps, however often it was resumed.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/train/decided_run.h"
#include "tests/train/report/page_data.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"
#include "train/trainer.h"

namespace skyline {
namespace {

using namespace tests;

namespace fs = std::filesystem;

// 3 epochs of 4 steps.
TrainOptions image_options() {
  TrainOptions options;
  options.model = "lenet";
  options.data.images = 16;
  options.data.test_images = 10;
  options.batch_size = 4;
  options.epochs = 3;
  options.threads = 1;
  return resolved(options);
}

// 2 epochs of 6 steps, whose lengths vary.
TrainOptions text_options() {
  TrainOptions options;
  options.model = "seq2seq";
  options.batch_size = 8;
  options.epochs = 2;
  options.threads = 1;
  options.text.pairs = 48;
  options.text.val_pairs = 10;
  options.text.units = 12;
  return resolved(options);
}

class ResumedReport : public ::testing::Test {
 protected:
  // Trains to a step, from the beginning or further.
  nlohmann::json train(TrainOptions options, const std::string& name, std::int64_t steps) {
    options.steps = steps;
    Trainer trainer(options, {}, console_);
    if (fs::exists(folder_ / name)) {
      trainer.resume(load_checkpoint(folder_ / name));
    } else {
      trainer.start(folder_ / name);
    }
    trainer.run();
    return page_data(read_file(folder_ / name / "report.html"));
  }

  const TemporaryFolder folder_;
  std::ostringstream messages_;
  Console console_{messages_, {}};
};

TEST_F(ResumedReport, ShowsTheWholeRun) {
  TrainOptions options = image_options();
  options.schedule = "constant";  // does not depend on the number of steps
  const nlohmann::json whole = train(options, "whole", 12);
  ASSERT_EQ(whole["losses"][0]["mean"].size(), 12u);
  EXPECT_EQ(whole["evaluations"]["steps"], nlohmann::json({4, 8, 12}));
  for (const char* metric : {"test top-1", "test top-5", "test"}) {
    EXPECT_NE(whole["evaluations"].dump().find(metric), std::string::npos);
  }
  train(options, "cut", 4);
  train(options, "cut", 8);
  const nlohmann::json resumed = train(options, "cut", 12);
  EXPECT_EQ(resumed["losses"], whole["losses"]);
  EXPECT_EQ(resumed["evaluations"], whole["evaluations"]);
  const nlohmann::json idle = train(options, "cut", 12);
  EXPECT_EQ(idle["losses"], whole["losses"]) << "no step is left to do";
  EXPECT_EQ(idle["evaluations"], whole["evaluations"]);
}

TEST_F(ResumedReport, LeavesGapsWhereTheLogWasLost) {
  TrainOptions options = image_options();
  options.schedule = "constant";
  train(options, "run", 8);
  std::string log = read_file(folder_ / "run/log.jsonl");
  const std::size_t third = log.find("{\"step\":3");
  log.replace(third, log.find('\n', third) - third, "damaged");
  log.resize(log.find("{\"step\":7"));
  write_atomically(folder_ / "run/log.jsonl", log);
  const nlohmann::json losses = train(options, "run", 12)["losses"][0]["mean"];
  ASSERT_EQ(losses.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(losses[i].is_null(), i == 2 || i == 6 || i == 7) << i;
  }
}

TEST_F(ResumedReport, OfTextShowsMemoryOverAllSteps) {
  TrainOptions options = text_options();
  options.schedule = "constant";
  const nlohmann::json whole = train(options, "whole", 12);
  train(options, "cut", 6);
  const nlohmann::json resumed = train(options, "cut", 12);
  EXPECT_EQ(resumed["losses"], whole["losses"]);
  EXPECT_EQ(resumed["steps"]["lengths"], whole["steps"]["lengths"]);
  EXPECT_EQ(resumed["steps"]["live"], whole["steps"]["live"]);
  EXPECT_EQ(resumed["steps"]["lines"][0]["steps"], 12);
  EXPECT_EQ(resumed["steps"]["first"], 1);
  EXPECT_EQ(resumed["evaluations"]["steps"], nlohmann::json({6, 12}));
  EXPECT_EQ(resumed["evaluations"], whole["evaluations"]);
}

// Counts what the allocator takes from the device in the same steps and evaluation. Each batch has
// another shape, so that a pool takes more in the first steps after the warm-up.
TEST_F(ResumedReport, AllocationsAfterTheSwitchBeginWithTheStepAfterTheWarmUp) {
  TrainOptions options = text_options();
  options.memory.allocator = "exact-pool";
  options.steps = 5;
  const DecidedWorkload decided = decided_workload(options, {}, console_);
  decided.workload->prepare();
  const std::unique_ptr<ModelRun> run = tests::run_on(decided, options.memory);
  run->seek({}, options.data.seed);
  std::vector<std::uint64_t> taken;
  for (std::int64_t step = 1; step <= 5; ++step) {
    run->next();
    run->train_step({.learning_rate = 1e-3f, .step = step});
    taken.push_back(run->memory.statistics().device_allocations);
  }
  run->evaluate(5, {});
  const std::uint64_t all = run->memory.statistics().device_allocations;
  ASSERT_LT(taken[0], taken[1]) << "a count that begins a step late would be another";

  Trainer trainer(options, {}, console_);
  trainer.start(folder_ / "run");
  const nlohmann::json memory = parsed_json(trainer.run().json)["memory"];
  EXPECT_EQ(memory["device_allocations_after_switch"], all - taken[0]);
}

}  // namespace
}  // namespace skyline
