// Training on a stream of characters, from the options to the run's folder and what reads it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/small_trainer.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using namespace tests;
using testing::HasSubstr;
namespace fs = std::filesystem;

class TextTraining : public TrainerTest {
 protected:
  using Words = std::vector<std::string>;

  TextTraining() { fs::create_directories(folder_); }

  // Two epochs of 9 steps of a small gpt.
  static TrainOptions said() {
    TrainOptions options;
    options.model = "gpt-small";
    options.text.characters = 2000;
    options.text.length = 12;
    options.text.heads = 2;
    options.text.layers = 1;
    options.text.units = 16;
    options.text.dropout = 0.1;
    options.epochs = 2;
    options.batch_size = 16;
    options.threads = 1;
    return options;
  }
  static TrainOptions options() { return resolved(said()); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  Outcome trained(const Words& more) const {
    Words words = {"train",     "--model", "gpt-small", "--layers",     "1", "--units",
                   "8",         "--heads", "2",         "--length",     "8", "--out",
                   path("run"), "--steps", "3",         "--batch-size", "2", "--threads",
                   "1",         "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
};

TEST_F(TextTraining, ResumedInTheMiddleOfAnEpochGoesOnBitForBit) {
  TrainOptions options = TextTraining::options();
  options.checkpoint_every = 4;
  options.steps = 6;
  train(options, "whole");
  fs::copy(folder_ / "whole", folder_ / "cut",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  resume(options, folder_ / "cut/checkpoints/step-000000004");
  expect_equal_ends("whole", "cut");
}

TEST_F(TextTraining, BudgetsLanesAndOrdersChangeNoBit) {
  TrainOptions options = TextTraining::options();
  train(options, "plain");
  options.step.order = "program";
  train(options, "program");
  expect_equal_ends("plain", "program");
  options.device.lanes = 2;
  train(options, "lanes");
  expect_equal_ends("plain", "lanes");
  options = said();
  options.step.memory_bytes = 304 << 10;
  const nlohmann::json json = parsed_json(train(resolved(options), "budget").json);
  expect_equal_ends("plain", "budget");
  EXPECT_LE(json["budget"]["reserved"].get<std::uint64_t>(), 304u << 10);
  EXPECT_GT(json["budget"]["recomputed"].get<int>(), 0);
}

TEST_F(TextTraining, TellsItsFiguresAndEvaluatesWhenAsked) {
  TrainOptions options = TextTraining::options();
  options.evaluate_every = 4;
  options.keep_best = true;
  const nlohmann::json json = parsed_json(train(options, "run").json);
  const double loss = json["test_loss"];
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(loss), 1e-9);
  EXPECT_NEAR(json["bits"].get<double>(), loss / std::log(2.0), 1e-9);
  std::ifstream log(folder_ / "run" / "evaluations.jsonl");
  std::vector<double> losses;
  for (std::string line; std::getline(log, line);) losses.push_back(parsed_json(line)["test_loss"]);
  EXPECT_EQ(losses.size(), 6u);  // 4, 8, 9, 12, 16, 18
  EXPECT_EQ(
      load_checkpoint(folder_ / "run/best").checkpoint.position.evaluation->metrics.at("test_loss"),
      std::ranges::min(losses));
  EXPECT_THAT(messages_.str(),
              HasSubstr("sums: 1800 characters of 22 different ones to train with, "
                        "16 windows of 12 to validate"));
}

TEST_F(TextTraining, ReadsEvaluatesAndContinuesAFile) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "the cat sees the dog\n";
  const std::string file = write("cats.txt", text);
  const Outcome outcome = trained({"--data", file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(read_file(folder_ / "run" / "characters.txt"), "\n acdeghost");

  const Outcome same = skyline_program({"evaluate", path("run"), "--json"});
  EXPECT_EQ(same.exit_code, 0) << same.messages;
  EXPECT_NEAR(same.json()["test_loss"].get<double>(), outcome.json()["test_loss"].get<double>(),
              1e-6);
  EXPECT_EQ(same.json()["windows"], 7);
  const Outcome other = skyline_program({"evaluate", path("run"), "--data", file, "--json"});
  EXPECT_EQ(other.json()["windows"], 78) << other.messages;

  const Words generate = {"generate", path("run"), "--prompt", "the ",  "--length",
                          "30",       "--seed",    "3",        "--json"};
  const Outcome written = skyline_program(generate);
  ASSERT_EQ(written.exit_code, 0) << written.messages;
  EXPECT_EQ(written.json()["text"].get<std::string>().size(), 30u);
  EXPECT_EQ(skyline_program(generate).json()["text"], written.json()["text"]);

  const auto refused = [](const Words& words, const std::string& why, int exit_code) {
    const Outcome ended = skyline_program(words);
    EXPECT_EQ(ended.exit_code, exit_code);
    EXPECT_THAT(ended.messages, HasSubstr(why));
  };
  refused({"generate", path("run"), "--prompt", "a\nbz"},
          "[--prompt] line 2, character 1: 'b' (U+0062) is none of the 11 characters", 1);
  refused({"generate", path("run"), "--prompt", ""}, "--prompt: give at least one character", 2);
  refused({"predict", path("run"), file}, "goes on with a text: use skyline generate", 2);
  refused({"translate", path("run"), "a"}, "goes on with a text: use skyline generate", 2);
  refused({"evaluate", path("run"), "--data", write("dogs.txt", "the dogs\nwow")},
          "dogs.txt] line 2, character 1: 'w' (U+0077) is none of the 11 characters", 1);
  write("cats.txt", text + "more");
  refused({"train", "--resume", path("run"), "--steps", "4"}, "length of the text, got 634", 1);
}

TEST_F(TextTraining, ReadsNumbersOfWords) {
  std::string words;
  for (int i = 0; i < 400; ++i) words += {static_cast<char>(i % 7), '\1'};
  const Words tokens = {"--tokens", write("words.bin", words), "--vocab-size", "300"};
  const Outcome outcome = trained(tokens);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_FALSE(fs::exists(folder_ / "run" / "characters.txt"));
  const Outcome evaluated = skyline_program({"evaluate", path("run"), "--json"});
  EXPECT_EQ(evaluated.json()["test_loss"].get<double>() > 0, true) << evaluated.messages;
  const Outcome written =
      skyline_program({"generate", path("run"), "--prompt", "256 257", "--length", "5", "--json"});
  EXPECT_EQ(written.json()["words"], 5) << written.messages;
  EXPECT_THAT(skyline_program({"generate", path("run"), "--prompt", "300"}).messages,
              HasSubstr("words are numbers from 0 to 299"));
}

TEST_F(TextTraining, RefusesWhatWouldDoNothing) {
  const auto refused = [this](const Words& words, const std::string& why) {
    const Outcome outcome = trained(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.messages, HasSubstr(why));
  };
  refused({"--data", "sum"}, "did you mean 'sums'");
  refused({"--data", "nowhere/text"}, "no text '");
  refused({"--data", "x.txt", "--tokens", "y.bin"}, "--data and --tokens exclude each other");
  refused({"--heads", "3"}, "--heads 3 does not divide the 8 units");
  refused({"--source", "a"}, "--source is for models that translate, got --model gpt-small");
  refused({"--insize", "9"}, "--insize is for models that read images, got --model gpt-small");
  refused({"--vocab-size", "9"}, "--vocab-size is for --tokens and would do nothing here");
  refused({"--momentum", "0.5"}, "--momentum is for --optimizer sgd");
  refused({"--fused-update", "--clip", "1"}, "give --clip 0");
  EXPECT_THAT(skyline_program({"train", "--model", "lenet", "--heads", "2"}).messages,
              HasSubstr("--heads is for models that go on with a text, got --model lenet"));
  EXPECT_THAT(skyline_program({"train", "--model", "lenet", "--units", "2"}).messages,
              HasSubstr("--units is for models that translate or go on with a text"));
}

// The defaults of nanoGPT's small model and of llm.c's GPT-2.
TEST(TextOptions, AreThoseOfTheModel) {
  TrainOptions options;
  options.model = "gpt-small";
  options = resolved(options);
  const OptimizerOptions small = optimizer_options(options);
  EXPECT_EQ(small.name, "adamw");
  EXPECT_FLOAT_EQ(small.weight_decay, 0.1f);
  EXPECT_FLOAT_EQ(small.beta2, 0.99f);
  EXPECT_FLOAT_EQ(small.clip, 1);
  const LearningRate rate = learning_rate(options, 2000, 500);
  EXPECT_DOUBLE_EQ(rate.at(0), 1e-5);
  EXPECT_DOUBLE_EQ(rate.at(99), 1e-3);
  EXPECT_NEAR(rate.at(2000), 1e-4, 1e-12);
  options = {};
  options.model = "gpt2";
  options = resolved(options);
  const OptimizerOptions large = optimizer_options(options);
  EXPECT_FLOAT_EQ(large.weight_decay, 0.01f);
  EXPECT_FLOAT_EQ(large.beta2, 0.999f);
  EXPECT_EQ(large.clip, 0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 100, 10).at(70), 1e-4);
}

}  // namespace
}  // namespace skyline
