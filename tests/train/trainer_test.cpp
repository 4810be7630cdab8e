#include "train/trainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/host.h"
#include "framework/lanes/step_lanes.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "memory/validator.h"
#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/images/idx_folder_files.h"
#include "tests/train/parsed_json.h"
#include "tests/train/report/page_data.h"
#include "tests/train/run/signalling_buffer.h"
#include "tests/train/small_trainer.h"
#include "train/checkpoints/files.h"
#include "train/lab/load_file.h"
#include "train/optimizers/optimizer.h"
#include "train/options/memory_options.h"
#include "train/run/divergence.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using namespace tests;
using Json = nlohmann::ordered_json;

TEST_F(TrainerTest, KeepsARunFolder) {
  const CommandResult result = train(small_options(), "run");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* file : {"arguments.json", "log.jsonl", "epochs.csv", "trace.csv", "plan.csv",
                           "graph.json", "report.html", "checkpoints/latest/weights.safetensors"}) {
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
  }
  EXPECT_EQ(logged("run", "step").size(), 10u);
  EXPECT_EQ(logged("run", "planned"),
            (std::vector<Json>{false, true, true, true, true, true, true, true, true, true}));
  std::ifstream plan_file(folder_ / "run" / "plan.csv");
  const CsvPlan csv = read_plan_csv(plan_file, "plan.csv");
  EXPECT_TRUE(validate(csv.trace, csv.plan).valid);
}

TEST_F(TrainerTest, TheReportShowsTheOrderOfItsStep) {
  TrainOptions options = small_options();
  options.model = "resnet20";
  options.steps = 2;
  options.step.fused_update = true;
  train(options, "run");
  const nlohmann::json page = page_data(read_file(folder_ / "run" / "report.html"));
  const nlohmann::json& order = page["order"];
  EXPECT_EQ(order["algorithm"], "optimal");
  const std::uint64_t resident = order["resident_bytes"];
  EXPECT_EQ(order["peak"], page["plan"]["lower_bound"].get<std::uint64_t>() + resident)
      << "as the session recorded the step";
  EXPECT_LT(order["peak"], order["program"]);
  const OrderProblem recorded = order_problem(load_graph(folder_ / "run" / "graph.json").graph, {});
  EXPECT_EQ(order["program"], order_peak(recorded, program_sequence(recorded)) + resident);
}

TEST_F(TrainerTest, ResultHasItsKeys) {
  const Json json = parsed_in_order(train(small_options(), "run").json);
  for (const char* key : {"steps", "loss", "top1", "seconds", "run_directory", "memory"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["steps"], 10);
  EXPECT_EQ(json["run_directory"], (folder_ / "run").string());
  EXPECT_EQ(json["top1"], last_checkpoint("run").position.evaluation->metrics.at("top1"));
}

// Forward ops run as written; the result says what that costs in this run's step.
TEST_F(TrainerTest, ResultSaysWhatMovingForwardOpsWouldSave) {
  TrainOptions options = small_options();
  options.steps = 2;
  const CommandResult result = train(options, "run");
  const Json order = parsed_in_order(result.json)["order"];
  const GraphFile file = load_graph(folder_ / "run" / "graph.json");
  const std::uint64_t resident = resident_bytes(file.graph);
  EXPECT_EQ(order["algorithm"], "optimal");
  EXPECT_EQ(order["peak"].get<std::uint64_t>() - order["forward_saves"].get<std::uint64_t>(),
            resident + skyline::order(file.graph).peak);
  EXPECT_NE(result.text.find("moving forward ops, too, would save "), result.text.npos);
}

TEST_F(TrainerTest, EachStepHasTheLearningRateOfItsPlace) {
  const TrainOptions options = small_options();
  train(options, "run");
  std::vector<Json> expected;
  for (std::int64_t done = 0; done < 10; ++done) {
    expected.push_back(LearningRate{options.learning_rate, options.schedule, 10}.at(done));
  }
  EXPECT_EQ(logged("run", "learning_rate"), expected);
  EXPECT_NE(expected[0], expected[1]);
}

TEST_F(TrainerTest, TheOrderOfSamplesComesFromTheSeed) {
  tests::write_idx_folder(folder_ / "data", 40, 8);  // files, which are the same under every seed
  for (const std::uint64_t seed : {3, 4}) {
    TrainOptions options = small_options();
    options.data.data = (folder_ / "data").string();
    options.data.seed = seed;  // but the parameters' seed is the same
    train(options, std::to_string(seed));
    EXPECT_EQ(last_checkpoint(std::to_string(seed)).position.order_seed, seed);
  }
  EXPECT_NE(logged("3", "loss").front(), logged("4", "loss").front());
}

TEST_F(TrainerTest, AnEqualEvaluationDoesNotReplaceTheBest) {
  TrainOptions options = small_options();
  options.keep_best = true;
  options.learning_rate = 1e-30;  // nothing changes, so both evaluations are equal
  train(options, "run");
  EXPECT_EQ(load_checkpoint(folder_ / "run").checkpoint.position.step, 10);
  EXPECT_EQ(load_checkpoint(folder_ / "run" / "best").checkpoint.position.step, 5);
}

TEST_F(TrainerTest, NothingIsTakenFromTheDeviceAfterTheSwitch) {
  const Json memory = parsed_in_order(train(small_options(), "run").json)["memory"];
  EXPECT_EQ(memory["device_allocations_after_switch"], 0);
  EXPECT_EQ(memory["deviations"], 0);
  EXPECT_EQ(memory["fallback_requests"], 0);
  EXPECT_EQ(memory["fallback_peak_reserved"], 0);
  // Ten training steps without the warm-up, and two evaluations of three steps.
  EXPECT_EQ(memory["planned_steps"], 9 + 2 * 3);
  EXPECT_LT(memory["peak_reserved_after_switch"], memory["warm_up_peak_reserved"]);
  EXPECT_EQ(memory["peak_reserved"], memory["warm_up_peak_reserved"]) << "the whole run";
}

TEST_F(TrainerTest, ShowsTheResidentSetAndItsParts) {
  TrainOptions options = small_options();
  options.verbose = true;
  const CommandResult result = train(options, "run");
  const Json json = parsed_in_order(result.json);
  const Json& process = json["process"];
  EXPECT_GT(process["resident_set"], process["reserved"]) << "the program is resident, too";
  EXPECT_GE(process["peak_resident_set"], process["resident_set"]);
  EXPECT_EQ(process["peak_reserved"], json["memory"]["peak_reserved"]);
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : process["resident_set_of"].items()) {
    sum += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ(sum, process["resident_set"]);
  const Json& parts = process["resident_set_of"];
  EXPECT_GT(parts["device_memory"], 0);
  EXPECT_LE(parts["device_memory"], process["reserved"].get<std::uint64_t>() + 64 * 4096);
#ifndef SKYLINE_ADDRESS_SANITIZER  // whose heap tells nothing
  EXPECT_GT(parts["host_batches"], 0);
  EXPECT_GE(parts["histories"], 10 * 2 * sizeof(double)) << "losses and seconds of ten steps";
#endif
  for (const char* text : {"after the switch", "resident set", "program and libraries"}) {
    EXPECT_NE(result.text.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(page_data(read_file(folder_ / "run" / "report.html"))["process"][1][0], "resident set");
}

TEST_F(TrainerTest, TheResultStandsFirstThenWhatToDoWithIt) {
  const std::string text = train(small_options(), "run").text;
  const std::string run = (folder_ / "run").string();
  EXPECT_TRUE(text.starts_with("10 steps in ")) << text;
  std::size_t at = text.find("; run folder " + run + "\n");
  for (const std::string& next :
       {"next: skyline predict " + run + " FILE.jpg\n", "skyline evaluate " + run + "\n",
        "skyline train --resume " + run + " --epochs N\n", run + "/report.html in a browser",
        std::string("allocator  ")}) {
    ASSERT_NE(at, text.npos) << text;
    at = text.find(next, at);
  }
  EXPECT_NE(at, text.npos) << text;
  EXPECT_EQ(text.find("resident set"), text.npos) << "it needs --verbose";
}

TEST_F(TrainerTest, TheSwitchIsToldWithWhatItSaves) {
  train(small_options(), "run");
  EXPECT_NE(messages_.str().find("switched to the plan before step 2"), std::string::npos)
      << messages_.str();
  EXPECT_NE(messages_.str().find("saves"), std::string::npos);
  EXPECT_NE(messages_.str().find("planned the evaluation before step 6"), std::string::npos);
}

TEST_F(TrainerTest, AllocatorsTrainTheSameNetwork) {
  train(small_options("planned"), "planned");
  train(small_options("best-fit-pool"), "pool");
  train(small_options("network-wise"), "network-wise");
  expect_equal_ends("planned", "pool");
  expect_equal_ends("planned", "network-wise");
}

TEST_F(TrainerTest, ResumingInTheMiddleOfAnEpochChangesNoBit) {
  TrainOptions options = small_options();
  options.checkpoint_every = 4;  // and after each epoch: 4, 5, 8, 10, of which two are kept
  train(options, "whole");
  fs::copy(folder_ / "whole", folder_ / "again",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  resume(options, folder_ / "again" / "checkpoints" / "step-000000008");
  expect_equal_ends("whole", "again");
}

// Two steps an epoch: the fifth batch fills none.
TEST_F(TrainerTest, ResumingBetweenMicroBatchesOfAnEpochChangesNoBit) {
  TrainOptions options = small_options();
  options.step.micro_batches = 2;
  options.checkpoint_every = 3;
  const Json json = parsed_in_order(train(options, "whole").json);
  EXPECT_EQ(json["steps"], 4);
  EXPECT_EQ(json["micro_batches"], 2);
  EXPECT_EQ(json["memory"]["deviations"], 0);
  EXPECT_THAT(read_file(folder_ / "whole" / "report.html"), testing::HasSubstr("2 × 8 = 16"));
  const std::vector<Json> losses = logged("whole", "loss");
  const double mean = (losses[2].get<double>() + losses[3].get<double>()) / 2;
  EXPECT_NEAR(json["loss"].get<double>(), mean, 1e-6) << "of the second epoch";
  fs::copy(folder_ / "whole", folder_ / "again",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const fs::path middle = folder_ / "again" / "checkpoints" / "step-000000003";
  EXPECT_EQ(load_checkpoint(middle).checkpoint.position.batch, 2) << "counts batches";
  resume(options, middle);
  expect_equal_ends("whole", "again");
}

TEST_F(TrainerTest, ResumingUnderAnotherAllocatorChangesNoBit) {
  TrainOptions options = small_options("best-fit-pool");
  options.model = "resnet20";
  options.checkpoint_every = 4;
  train(options, "whole");
  fs::copy(folder_ / "whole", folder_ / "again",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  options.memory.allocator = "planned";
  resume(options, folder_ / "again" / "checkpoints" / "step-000000008");
  expect_equal_ends("whole", "again");
}

TEST_F(TrainerTest, ASignalSavesAndTheRunGoesOnAsIfNothingHadHappened) {
  const TrainOptions options = small_options();
  train(options, "whole");
  {
    tests::SignallingBuffer buffer("switched to the plan");  // printed before step 2
    std::ostream stream(&buffer);
    Console console(stream, {});
    Trainer trainer(options, {}, console);
    trainer.start(folder_ / "cut");
    const CommandResult result = trainer.run();
    EXPECT_EQ(result.exit_code, 143);
    EXPECT_EQ(parsed_in_order(result.json)["steps"], 2);
    EXPECT_EQ(parsed_in_order(result.json)["interrupted"], true);
  }
  EXPECT_EQ(logged("cut", "step").size(), 2u);
  EXPECT_EQ(resume(options, folder_ / "cut").exit_code, 0);
  expect_equal_ends("whole", "cut");
}

TEST_F(TrainerTest, ASignalSavesARunOnLanesAndItGoesOnOnOne) {
  TrainOptions options = small_options();
  options.data.images = 80;
  train(options, "whole");
  TrainOptions lanes = options;
  lanes.device.lanes = 2;
  lanes = resolved(lanes);
  {
    // Printed before the first step on lanes.
    tests::SignallingBuffer buffer("switched to the plan", SIGINT);
    std::ostream stream(&buffer);
    Console console(stream, {});
    Trainer trainer(lanes, {}, console);
    trainer.start(folder_ / "cut");
    EXPECT_EQ(trainer.run().exit_code, 130);
  }
  EXPECT_EQ(logged("cut", "step").size(), StepLanes::kStepsBefore + 1u);
  EXPECT_EQ(resume(options, folder_ / "cut").exit_code, 0);
  expect_equal_ends("whole", "cut");
}

// Trains until the first evaluation, which `signal` interrupts.
int train_until_evaluation(const TrainOptions& options, const fs::path& out, int signal) {
  tests::SignallingBuffer buffer("planned the evaluation", signal);
  std::ostream stream(&buffer);
  Console console(stream, {});
  Trainer trainer(options, {}, console);
  trainer.start(out);
  return trainer.run().exit_code;
}

TEST_F(TrainerTest, ASignalStopsAnEvaluationAndTheRunGoesOnAsIfNothingHadHappened) {
  const TrainOptions options = small_options();
  train(options, "whole");
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove_all(folder_ / "cut");
    EXPECT_EQ(train_until_evaluation(options, folder_ / "cut", signal), 128 + signal);
    const TrainingPosition position = last_checkpoint("cut").position;
    EXPECT_EQ(position.step, 5);
    EXPECT_EQ(position.epoch, 0) << "its evaluation is still due";
    EXPECT_EQ(position.evaluation, std::nullopt);
    EXPECT_EQ(resume(options, folder_ / "cut").exit_code, 0);
    expect_equal_ends("whole", "cut");
  }
}

TEST_F(TrainerTest, AKilledEvaluationLosesNoStep) {
  const TrainOptions options = small_options();
  train(options, "whole");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(train_until_evaluation(options, folder_ / "killed", SIGKILL));
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(last_checkpoint("killed").position.step, 5);
  EXPECT_EQ(resume(options, folder_ / "killed").exit_code, 0);
  expect_equal_ends("whole", "killed");
}

TEST_F(TrainerTest, ResumingAFinishedRunTrainsNoFurther) {
  const TrainOptions options = small_options();
  const Json before = parsed_in_order(train(options, "run").json);
  const CommandResult after = resume(options, folder_ / "run");
  EXPECT_EQ(after.exit_code, 0);
  const Json json = parsed_in_order(after.json);
  EXPECT_EQ(json["steps"], 10);
  EXPECT_EQ(json["loss"], before["loss"]);
  EXPECT_EQ(json["top1"], before["top1"]);
}

TEST_F(TrainerTest, StepsEndARunInTheMiddleOfAnEpoch) {
  TrainOptions options = small_options();
  options.steps = 7;
  const CommandResult result = train(options, "run");
  EXPECT_EQ(parsed_in_order(result.json)["steps"], 7);
  EXPECT_TRUE(parsed_in_order(result.json)["top1"].is_number()) << "it is evaluated at the end";
  EXPECT_EQ(last_checkpoint("run").position.batch, 2);
}

TEST_F(TrainerTest, TheLastCheckpointHoldsTheLastEvaluation) {
  TrainOptions options = small_options();
  options.steps = options.checkpoint_every = 3;
  train(options, "run");
  EXPECT_EQ(last_checkpoint("run").position.evaluation->step, 3);
}

TEST_F(TrainerTest, EveryPolicyTrains) {
  for (const std::string& policy : policy_names()) {
    SCOPED_TRACE(policy);
    TrainOptions options = small_options();
    options.memory.policy = policy_of(policy);
    options.memory.check = true;
    train(options, policy);
    expect_equal_ends(policy, policy_names().front());
  }
}

TEST_F(TrainerTest, AnUpperBoundIsPlannedBeforeTheFirstStep) {
  TrainOptions options = small_options();
  options.memory.policy = ShapePolicy::kUpperBound;
  train(options, "run");
  EXPECT_EQ(logged("run", "planned").front(), true);
}

TEST_F(TrainerTest, ALossThatIsNoNumberStopsTheRunAndKeepsWhatWasSaved) {
  TrainOptions options = small_options();
  options.learning_rate = 1e30;
  options.checkpoint_every = 1;
  try {
    train(options, "run");
    FAIL() << "no error";
  } catch (const Divergence& error) {
    EXPECT_GE(error.facts().step, 2);
    EXPECT_FALSE(error.facts().layer.empty());
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("step " + std::to_string(error.facts().step)), std::string::npos);
    EXPECT_NE(sentence.find("the first layer that made it is " + error.facts().layer),
              std::string::npos);
    EXPECT_EQ(last_checkpoint("run").position.step, error.facts().step - 1);
    EXPECT_THAT(sentence, testing::HasSubstr(fmt::format(
                              "To go on from step {}: skyline train --resume {} --learning-rate ",
                              error.facts().step - 1, (folder_ / "run").string())));
  }
}

TEST_F(TrainerTest, ABatchLargerThanTheDataIsRefusedBeforeAFolderIsMade) {
  TrainOptions options = small_options();
  options.batch_size = 41;
  EXPECT_THROW(train(options, "run"), DataError);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(TrainerTest, OtherNumbersOfImagesAreRefusedIfTheCheckpointKnowsThem) {
  TrainOptions options = small_options();
  options.steps = 4;
  train(options, "run");
  options.data.images = 48;  // 6 batches an epoch instead of 5: the position is possible
  EXPECT_THAT([&] { resume(options, folder_ / "run"); },
              testing::ThrowsMessage<DataError>(
                  testing::HasSubstr("training images, got 48, expected 40, as in training")));
  Checkpoint checkpoint = load_checkpoint(folder_ / "run").checkpoint;
  for (const char* fact : {"classes", "input", "images"}) checkpoint.position.data->erase(fact);
  CheckpointStore(folder_ / "old/checkpoints").save(checkpoint);
  resume(options, folder_ / "old");
  EXPECT_EQ(last_checkpoint("old").position.step, 4);
}

TEST_F(TrainerTest, APositionBeyondTheDataIsRefused) {
  TrainOptions options = small_options();
  options.steps = 4;
  train(options, "run");
  options.data.images = 24;  // 3 batches an epoch instead of 5
  Checkpoint checkpoint = load_checkpoint(folder_ / "run").checkpoint;
  checkpoint.position.data->erase("images");  // as in older checkpoints
  CheckpointStore(folder_ / "old/checkpoints").save(checkpoint);
  EXPECT_THAT([&] { resume(options, folder_ / "old"); },
              testing::ThrowsMessage<CheckpointError>(testing::HasSubstr(
                  "step 4 is said to be batch 4 of epoch 1, but an epoch has 3 batches")));
}

TEST_F(TrainerTest, AFactOfAnotherTypeIsRefused) {
  const TrainOptions options = small_options();
  train(options, "run");
  Checkpoint checkpoint = load_checkpoint(folder_ / "run").checkpoint;
  EXPECT_EQ(training_position_from(to_text(checkpoint.position)), checkpoint.position);
  for (const char* key : {"loss_sum", "evaluated_step", "evaluation", "last_loss"}) {
    Json position = Json::parse(to_text(checkpoint.position));
    position["more"][key] = Json::array();
    EXPECT_THAT([&] { training_position_from(position.dump()); },
                testing::ThrowsMessage<std::invalid_argument>(testing::StartsWith(key)));
  }
  (*checkpoint.position.data)["images"] = Json::array();
  CheckpointStore(folder_ / "other/checkpoints").save(checkpoint);
  EXPECT_THROW(resume(options, folder_ / "other"), CheckpointError);
}

// RunDirectory knows the names by a list; it must not lack one.
TEST_F(TrainerTest, NothingThatARunWroteMayBeALinkOutOfItWhenItIsResumed) {
  TrainOptions options = small_options();
  options.keep_best = true;
  train(options, "run");
  const LoadedCheckpoint loaded = load_checkpoint(folder_ / "run");
  std::vector<fs::path> written;
  for (const auto& entry : fs::directory_iterator(folder_ / "run")) written.push_back(entry);
  EXPECT_GT(written.size(), 9u);
  for (const fs::path& path : written) {
    const fs::path outside = folder_ / path.filename();
    fs::rename(path, outside);
    fs::create_symlink(outside, path);
    Trainer trainer(options, {}, console_);
    EXPECT_THAT([&] { trainer.resume(loaded); },
                testing::ThrowsMessage<WriteError>(
                    "cannot write " + path.string() + ": it is a link to " +
                    fs::canonical(outside).string() + ", outside the run folder"));
    fs::remove(path);
    fs::rename(outside, path);
  }
  resume(options, folder_ / "run");
}

TEST_F(TrainerTest, ACheckpointOfAnotherModelIsRefused) {
  TrainOptions options = small_options();
  train(options, "run");
  options.model = "mlp";
  EXPECT_THROW(resume(options, folder_ / "run"), CheckpointError);
  options.model = "resnet20";
  EXPECT_THAT([&] { resume(options, folder_ / "run"); },
              testing::ThrowsMessage<DataError>(testing::HasSubstr(
                  "channels, height and width, got 3 x 32 x 32, expected 1 x 28 x 28")));
}

}  // namespace
}  // namespace skyline
