// `skyline train --model seq2seq`, from the options to the run's folder.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/host.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/order/order_problem.h"
#include "tests/train/parsed_json.h"
#include "tests/train/report/page_data.h"
#include "tests/train/run/signalling_buffer.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"
#include "train/lab/load_file.h"
#include "train/options/memory_options.h"
#include "train/trainer.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

// One epoch of 6 steps.
TrainOptions translated_options() {
  TrainOptions options;
  options.model = "seq2seq";
  options.epochs = 1;
  options.batch_size = 8;
  options.threads = 1;
  options.checkpoint_every = 4;
  options.text.pairs = 48;
  options.text.val_pairs = 10;
  options.text.units = 12;
  options = resolved(options);
  return options;
}

class TranslationTraining : public ::testing::Test {
 protected:
  CommandResult train(const TrainOptions& options, const std::string& name) {
    Trainer trainer(options, {}, console_);
    trainer.start(folder_.path() / name);
    return trainer.run();
  }
  std::string weights(const std::string& name, const std::string& step) const {
    return read_file(folder_.path() / name / "checkpoints" / step / "weights.safetensors");
  }

  TemporaryFolder folder_;
  std::ostringstream messages_;
  Console console_{messages_, {}};
};

TEST_F(TranslationTraining, ResumedInTheMiddleOfAnEpochGoesOnBitForBit) {
  const TrainOptions options = translated_options();
  train(options, "whole");
  fs::copy(folder_.path() / "whole", folder_.path() / "cut",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  fs::remove_all(fs::canonical(folder_.path() / "cut/checkpoints/latest"));
  Trainer trainer(options, {}, console_);
  trainer.resume(load_checkpoint(folder_.path() / "cut/checkpoints/step-000000004"));
  EXPECT_EQ(parsed_in_order(trainer.run().json)["steps"], 6);
  EXPECT_EQ(weights("cut", "latest"), weights("whole", "latest"));
}

TEST_F(TranslationTraining, TheReportShowsTheOrderOfTheLongestStep) {
  for (const bool unroll : {false, true}) {
    TrainOptions options = translated_options();
    options.steps = 3;
    options.step.fused_update = true;
    options.text.clip = 0;
    options.text.unroll = unroll;
    const std::string run = unroll ? "unrolled" : "packed";
    train(options, run);
    const nlohmann::json order =
        page_data(read_file(folder_.path() / run / "report.html"))["order"];
    EXPECT_LE(order["peak"], order["program"]) << run;
    EXPECT_LE(order["lower_bound"], order["peak"]) << run;
    const OrderProblem recorded =
        order_problem(load_graph(folder_.path() / run / "graph.json").graph, {});
    EXPECT_EQ(order["program"], order_peak(recorded, program_sequence(recorded)) +
                                    order["resident_bytes"].get<std::uint64_t>())
        << run;
  }
}

TEST_F(TranslationTraining, TellsItsQualityAndKeepsTheBestBesideTheVocabularies) {
  TrainOptions options = translated_options();
  options.keep_best = true;
  const nlohmann::ordered_json json = parsed_in_order(train(options, "run").json);
  EXPECT_GT(json["perplexity"].get<double>(), 1);
  EXPECT_TRUE(json.contains("bleu"));
  EXPECT_EQ(json["pairs"], 48);
  EXPECT_NE(messages_.str().find("reference"), std::string::npos);
  for (const char* file : {"source.vocabulary.txt", "target.vocabulary.txt"}) {
    EXPECT_TRUE(fs::exists(folder_.path() / "run" / file)) << file;
  }
  EXPECT_EQ(run_folder_of(load_checkpoint(folder_.path() / "run/best")), folder_.path() / "run");
}

// Runs two epochs, each shuffled anew, with a smaller last batch and an evaluation at the end.
TEST_F(TranslationTraining, UnderUpperBoundARunTakesWhatItsLongestBatchTakes) {
  for (const bool unroll : {false, true}) {
    SCOPED_TRACE(unroll ? "unrolled" : "packed");
    TrainOptions options = translated_options();
    options.epochs = 2;
    options.text.pairs = 50;
    options.text.unroll = unroll;
    options.memory.policy = ShapePolicy::kUpperBound;
    options.memory.check = true;
    const std::string name = unroll ? "unrolled" : "packed";
    const nlohmann::ordered_json json = parsed_in_order(train(options, name).json);
    const auto& memory = json["memory"];
    EXPECT_EQ(json["steps"], 14);
    EXPECT_EQ(memory["planned_steps"], 14);
    EXPECT_EQ(memory["adopted_plans"], unroll ? 14 : 0);
    for (const char* figure : {"deviations", "replans", "fallback_bytes", "fallback_requests",
                               "device_allocations_after_switch"}) {
      EXPECT_EQ(memory[figure], 0) << figure;
    }
    const auto& longest = json["longest_batch"];
    EXPECT_EQ(longest["one_plan"], !unroll);
    EXPECT_EQ(memory["lower_bound"], longest[unroll ? "live_bytes" : "one_plan_bytes"])
        << "whichever batch came last";
    const auto least = memory["resident_bytes"].get<double>() + longest["live_bytes"].get<double>();
    const double page = 4096;  // arenas are whole pages
    EXPECT_LE(memory["peak_reserved_after_switch"].get<double>(), 1.01 * least + page);
    EXPECT_NE(messages_.str().find("longest batch: "), std::string::npos);
    EXPECT_NE(read_file(folder_.path() / name / "epochs.csv").find(",fallback_bytes"),
              std::string::npos);
  }
}

// Under every policy the page tells why each block of the longest step is alive.
TEST_F(TranslationTraining, ThePageTellsWhyTheBlocksOfTheLongestStepAreAlive) {
  for (const auto policy : {ShapePolicy::kGrow, ShapePolicy::kPerShape, ShapePolicy::kUpperBound}) {
    for (const bool unroll : {false, true}) {
      const std::string name =
          fmt::format("{}-{}", policy_name(policy), unroll ? "unrolled" : "packed");
      SCOPED_TRACE(name);
      TrainOptions options = translated_options();
      options.text.unroll = unroll;
      options.memory.policy = policy;
      const nlohmann::json memory = parsed_json(train(options, name).json)["memory"];
      const auto page = page_data(read_file(folder_.path() / name / "report.html"));
      ASSERT_TRUE(page.contains("story"));
      EXPECT_EQ(page["story"]["reasons"].size(), page["blocks"].size());
      const auto alive = page["story"]["strategies"][3]["bytes"].get<std::vector<std::uint64_t>>();
      EXPECT_EQ(std::ranges::max(alive), page["plan"]["lower_bound"]);
      if (memory["lower_bound"].is_null()) continue;  // no shape came often enough to be planned
      EXPECT_EQ(memory["lower_bound"], page["plan"]["lower_bound"]);
    }
  }
}

TEST_F(TranslationTraining, TheLastStepIsEvaluatedOnce) {
  TrainOptions options = translated_options();
  options.steps = 4;
  options.evaluate_every = 2;
  train(options, "run");
  const std::string told = messages_.str();
  const auto first = told.find("reference"), second = told.find("reference", first + 1);
  EXPECT_NE(second, std::string::npos) << "after steps 2 and 4";
  EXPECT_EQ(told.find("reference", second + 1), std::string::npos);
}

TEST_F(TranslationTraining, AnInterruptedRunTellsThePlanThatItHad) {
  TrainOptions options = translated_options();
  options.text.pairs = 400;  // the longest batch comes later
  options.memory.policy = ShapePolicy::kGrow;
  tests::SignallingBuffer buffer("switched to the plan");  // printed before step 2
  std::ostream stream(&buffer);
  Console console(stream, {});
  Trainer trainer(options, {}, console);
  trainer.start(folder_.path() / "cut");
  const nlohmann::ordered_json json = parsed_in_order(trainer.run().json);
  EXPECT_EQ(json["steps"], 2);
  std::ifstream file(folder_.path() / "cut/trace.csv");
  const Trace trace = read_trace_csv(file, "trace.csv");
  EXPECT_EQ(json["memory"]["lower_bound"], lower_bound_bytes(trace, kAlignmentBytes));
}

TEST_F(TranslationTraining, RefusesAVocabularyThatIsNotTheCheckpoints) {
  const TrainOptions options = translated_options();
  train(options, "run");
  write_atomically(folder_.path() / "run/source.vocabulary.txt", "<UNK>\n<EOS>\nother\n");
  Trainer trainer(options, {}, console_);
  EXPECT_THROW(trainer.resume(load_checkpoint(folder_.path() / "run")), CheckpointError);
}

TEST_F(TranslationTraining, ResumingOnOtherPairsIsRefusedByName) {
  TrainOptions options = translated_options();
  options.text.source = {folder_ / "a.en"};
  options.text.target = {folder_ / "a.fr"};
  const auto write = [&](int pairs, const std::string& more) {
    std::string text;
    for (int i = 0; i < pairs; ++i) text += "one two three\n";
    for (const char* file : {"a.en", "a.fr"}) write_atomically(folder_ / file, text + more);
  };
  write(60, "");
  train(options, "run");
  const auto resume = [&] {
    Trainer trainer(options, {}, console_);
    trainer.resume(load_checkpoint(folder_ / "run"));
  };
  resume();
  write(58, "");
  EXPECT_THAT(resume, testing::ThrowsMessage<DataError>(testing::HasSubstr(
                          "[a.en] training pairs, got 56, expected 57, as in training")));
  write(59, "four\n");
  EXPECT_THAT(resume, testing::ThrowsMessage<CheckpointError>(
                          testing::HasSubstr("[a.en] the source's vocabulary is not")));
}

}  // namespace
}  // namespace skyline
