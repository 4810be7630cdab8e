// Whole runs with options of the optimizer, the loss and the end of a run.

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/train/small_trainer.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using namespace tests;
using Json = nlohmann::ordered_json;

class TrainerOptionsTest : public TrainerTest {};

TEST_F(TrainerOptionsTest, WarmsUpAndFallsAtMilestonesOfEpochs) {
  TrainOptions options = small_options();
  options.learning_rate = 0.02;
  options.schedule = "milestones";
  options.milestones = {1};
  options.lr_warmup_epochs = 0.4;  // two of five steps
  train(options, "run");
  const std::vector<double> expected = {0.01,  0.02,  0.02,  0.02,  0.02,
                                        0.002, 0.002, 0.002, 0.002, 0.002};
  const std::vector<Json> rates = logged("run", "learning_rate");
  ASSERT_EQ(rates.size(), expected.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_DOUBLE_EQ(rates[i].get<double>(), expected[i]) << i;
  }
  EXPECT_THAT(read_file(folder_ / "run/epochs.csv"),
              testing::AllOf(testing::HasSubstr(",learning_rate,"), testing::HasSubstr(",0.02,")));
  EXPECT_THAT(messages_.str(), testing::HasSubstr("  lr 0.01"));
}

// Rows of epochs.csv as maps from column to cell.
std::vector<std::map<std::string, std::string>> epochs_of(const fs::path& run) {
  std::ifstream file(run / "epochs.csv");
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cells_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[names.at(i)] = cells[i];
  }
  return rows;
}

TEST_F(TrainerOptionsTest, TheTrainingAccuracyOfStepsIsThatOfTheEpoch) {
  TrainOptions options = small_options();
  options.checkpoint_every = 4;
  const Json json = parsed_in_order(train(options, "run").json);
  const std::vector<Json> steps = logged("run", "training_top1");
  ASSERT_EQ(steps.size(), 10u);
  const auto epochs = epochs_of(folder_ / "run");
  ASSERT_EQ(epochs.size(), 2u);
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    double right = 0;
    for (std::size_t step = 0; step < 5; ++step) {
      const double of_batch = 8 * steps[5 * epoch + step].get<double>();
      EXPECT_EQ(of_batch, std::round(of_batch)) << "images of a batch of eight";
      right += of_batch;
    }
    EXPECT_DOUBLE_EQ(std::stod(epochs[epoch].at("training_top1")), right / 40);
  }
  EXPECT_EQ(std::to_string(json["training_top1"].get<double>()),
            std::to_string(std::stod(epochs[1].at("training_top1"))));
  EXPECT_THAT(messages_.str(), testing::HasSubstr(", training top-1 "));
  EXPECT_THAT(read_file(folder_ / "run/report.html"), testing::HasSubstr("training top-1"));
}

TEST_F(TrainerOptionsTest, ARunOutOfPatienceEndsAndGoesOnWithMore) {
  TrainOptions options = small_options();
  options.epochs = 9;
  options.patience = 2;
  options.keep_best = true;
  options.learning_rate = 1e-30;  // no evaluation is better than the first
  const CommandResult ended = train(options, "run");
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(parsed_in_order(ended.json)["steps"], 15);
  EXPECT_EQ(parsed_in_order(ended.json)["out_of_patience"], true);
  EXPECT_EQ(parsed_in_order(ended.json)["interrupted"], false);
  EXPECT_THAT(messages_.str(),
              testing::HasSubstr("no better top-1 in 2 evaluations: --patience 2 ends the run "
                                 "after step 15 of 45"));
  EXPECT_EQ(load_checkpoint(folder_ / "run" / "best").checkpoint.position.step, 5);
  EXPECT_EQ(parsed_in_order(resume(options, folder_ / "run").json)["steps"], 15) << "still";
  options.patience = 3;
  EXPECT_EQ(parsed_in_order(resume(options, folder_ / "run").json)["steps"], 20);
  options.patience.reset();
  const CommandResult whole = resume(options, folder_ / "run");
  EXPECT_EQ(parsed_in_order(whole.json)["steps"], 45);
  EXPECT_EQ(parsed_in_order(whole.json)["out_of_patience"], false);
}

TEST_F(TrainerOptionsTest, SmoothingAndWeightsChangeTheTrainingLossAlone) {
  TrainOptions options = small_options();
  options.learning_rate = 1e-30;
  options.steps = 5;
  const Json plain = parsed_in_order(train(options, "plain").json);
  options.class_weights = kBalanced;  // shapes are balanced: all weights are 1
  const Json balanced = parsed_in_order(train(options, "balanced").json);
  EXPECT_EQ(logged("balanced", "loss"), logged("plain", "loss"));
  options.label_smoothing = 0.1;
  options.class_weights = "1,2,1,2,1,2,1,2,1,2";
  const Json judged = parsed_in_order(train(options, "judged").json);
  EXPECT_NE(logged("judged", "loss"), logged("plain", "loss"));
  EXPECT_EQ(judged["test_loss"], plain["test_loss"]) << "evaluations are plain";
  EXPECT_EQ(judged["memory"]["lower_bound"], plain["memory"]["lower_bound"]);
  EXPECT_EQ(resume(options, folder_ / "judged").exit_code, 0);
}

TEST_F(TrainerOptionsTest, ClassWeightsMustFitTheClasses) {
  TrainOptions options = small_options();
  const auto expect_refused = [&](const std::string& weights, const std::string& why) {
    options.class_weights = weights;
    EXPECT_THAT([&] { train(options, "run"); },
                testing::ThrowsMessage<UsageError>(testing::HasSubstr(why)));
  };
  expect_refused("1,2", "--class-weights: got 2 for 10 classes");
  expect_refused("1,1,1,x,1,1,1,1,1,1", "--class-weights: 'x' is not a number");
  expect_refused("1,1,0,1,1,1,1,1,1,1", "that of class 'square' must be above 0");
  options.data.images = 8;  // of 10 classes
  expect_refused(kBalanced, "class 'crescent' has no training image");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(TrainerOptionsTest, ADenormalInALogIsRead) {
  TrainOptions options = small_options();
  options.epochs = 1;
  train(options, "run");
  const fs::path log = folder_ / "run/evaluations.jsonl";
  Json line = Json::parse(read_file(log));
  line["test_loss"] = 1e-320;
  std::ofstream(log) << line.dump() << '\n';
  options.epochs = 2;
  EXPECT_EQ(resume(options, folder_ / "run").exit_code, 0);
  EXPECT_THAT(read_file(folder_ / "run/report.html"), testing::HasSubstr("1e-320"));
}

}  // namespace
}  // namespace skyline
