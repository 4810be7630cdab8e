// The command predict, beside evaluations of the same images.

#include "train/images/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/images/shapes.h"
#include "framework/philox.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/idx_folder_files.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/temporary_folder.h"
#include "train/cli/option_list.h"
#include "train/images/image_step.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TEST(TopGuesses, AreTheLargestLogitsTheLowerClassFirst) {
  const auto labels = [](const std::vector<float>& logits, std::size_t most) {
    std::vector<std::size_t> result;
    for (const Guess& guess : top_guesses(logits, most)) result.push_back(guess.label);
    return result;
  };
  EXPECT_THAT(labels({1, 5, 3, 5, 2}, 3), ElementsAre(1, 3, 2));
  EXPECT_THAT(labels({0, 0, 0}, 9), ElementsAre(0, 1, 2));
  EXPECT_THAT(labels({1, std::nanf(""), 3}, 2), IsEmpty());
  EXPECT_THAT(labels({1, INFINITY, 3}, 2), IsEmpty());
  const std::vector<Guess> guesses = top_guesses(std::vector<float>{1000, 1001}, 2);
  EXPECT_NEAR(guesses[0].probability, 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(guesses[0].probability + guesses[1].probability, 1, 1e-12);
}

class PredictionTest : public ::testing::Test {
 protected:
  // Trains LeNet, whose dense layers make a decided network of a few steps.
  void train(const Words& more) {
    Words words = {"train", "--model",      "lenet", "--threads",       "1",   "--out",
                   run_,    "--batch-size", "4",     "--learning-rate", "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = skyline_program(words);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  }
  Outcome predict(const Words& more) {
    Words words = {"predict", run_};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  nlohmann::json evaluated() { return skyline_program({"evaluate", run_, "--json"}).json(); }

  // Compares with the evaluation's top-1 and loss; `label_of` says what a path shows.
  template <typename LabelOf>
  void expect_as_evaluated(const nlohmann::json& predicted, const LabelOf& label_of) {
    double correct = 0, loss = 0;
    for (const nlohmann::json& image : predicted["images"]) {
      const std::size_t label = label_of(image["path"].get<std::string>());
      double sum = 0;
      for (const nlohmann::json& guess : image["predictions"]) {
        const double probability = guess["probability"];
        sum += probability;
        if (guess["label"] == label) loss -= std::log(probability);
      }
      EXPECT_NEAR(sum, 1, 1e-6) << "all classes were asked for";
      correct += image["predictions"][0]["label"] == label ? 1 : 0;
    }
    const nlohmann::json evaluation = evaluated();
    const double images = static_cast<double>(predicted["images"].size());
    ASSERT_EQ(evaluation["images"], predicted["images"].size());
    EXPECT_DOUBLE_EQ(evaluation["top1"].get<double>(), correct / images);
    EXPECT_NEAR(evaluation["loss"].get<double>(), loss / images, 1e-6);
  }

  const TemporaryFolder folder_;
  const std::string run_ = (folder_ / "run").string();
  const fs::path data_ = folder_ / "some data";
};

class FolderPredictionTest : public PredictionTest {
 protected:
  FolderPredictionTest() { write_image_folder(data_, 8, 3); }
  void train_on_folder(const Words& more = {}) {
    Words words = {"--data", data_.string(), "--insize", "16", "--resize", "20", "--epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    train(words);
  }
};

TEST_F(FolderPredictionTest, RanksTheImagesOfAFolderAsTheEvaluationDoes) {
  train_on_folder();
  const Outcome outcome = predict({(data_ / "val").string(), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const nlohmann::json json = outcome.json();
  ASSERT_EQ(json["images"].size(), 6u);
  EXPECT_EQ(json["images"][0]["path"], (data_ / "val/blue/0.png").string());
  EXPECT_TRUE(json["scaled"].empty()) << "as in training, not worth a note";
  expect_as_evaluated(
      json, [](const std::string& path) { return path.find("/red ones/") < path.size(); });
}

TEST_F(FolderPredictionTest, EveryMeanIsThatOfTheTraining) {
  for (const char* mean : {"none", "channel"}) {
    fs::remove_all(run_);
    train_on_folder({"--mean", mean});
    fs::rename(data_ / "train", data_ / "hidden");  // predictions need no training images
    const Outcome outcome = predict({(data_ / "val").string(), "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
    expect_as_evaluated(outcome.json(), [](const std::string& path) {
      return path.find("/red ones/") < path.size();
    });
    fs::rename(data_ / "hidden", data_ / "train");
  }
}

TEST_F(FolderPredictionTest, NamesBadImagesAndPredictsTheOthers) {
  train_on_folder();
  write_bad_images(data_);
  const std::string bad = (data_ / "train/blue/bad 1.jpg").string(),
                    absent = (folder_ / "none, at all.png").string(),
                    good = (data_ / "val/blue/1.png").string();
  const Outcome outcome = predict({bad, absent, good});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages, AllOf(HasSubstr(bad + ": file ends early"),
                                      HasSubstr("error: " + absent + ": no such file")));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(good), HasSubstr("blue"), HasSubstr("red ones")));
  const nlohmann::json json = predict({bad, absent, good, "--json", "--top", "1"}).json();
  EXPECT_EQ(json["bad_images"].size(), 2u);
  ASSERT_EQ(json["images"].size(), 1u);
  EXPECT_EQ(json["images"][0]["predictions"].size(), 1u);
  const Outcome none = predict({bad});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.output, "");
}

TEST_F(FolderPredictionTest, PathsInJsonOpenTheirFiles) {
  train_on_folder();
  const std::string line = (folder_ / "some/q\n\x1b[2J\u202e.png").string(),
                    bytes = (folder_ / "some/\xff\xe9.png").string(),
                    bad = (folder_ / "some/bad\t.png").string();
  write_file(line, plain_png(9, 7, 1, 2, 3));
  write_file(bytes, plain_png(9, 7, 1, 2, 3));
  write_file(bad, {});
  const Outcome outcome = predict({(folder_ / "some").string(), "--json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("some/bad\\t.png: file is empty"));
  EXPECT_EQ(outcome.output.find_first_of("\x1b\x7f"), std::string::npos);
  EXPECT_EQ(outcome.output.find("\u202e"), std::string::npos) << "a terminal would obey it";
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["bad_images"][0]["path"], bad);
  ASSERT_EQ(json["images"].size(), 2u);
  EXPECT_EQ(json["images"][0]["path"], line);
  EXPECT_EQ(json["images"][0]["path_bytes"], nullptr);
  const std::string digits = json["images"][1]["path_bytes"];
  EXPECT_TRUE(digits.ends_with("2fffe92e706e67")) << digits;
  EXPECT_EQ(digits.size(), 2 * bytes.size());
  EXPECT_THAT(predict({line}).output, HasSubstr("q\\n\\x1b[2J\\u202e.png"));
}

TEST_F(FolderPredictionTest, TakesACheckpointsFolderAndClassesWithoutNames) {
  train_on_folder({"--classes", "4"});
  const std::string checkpoint = (folder_ / "run/checkpoints/latest").string();
  const Outcome outcome = skyline_program(
      {"predict", checkpoint, (data_ / "val/blue/1.png").string(), "--batch-size", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const nlohmann::json json = outcome.json();
  std::vector<std::string> names;
  for (const nlohmann::json& guess : json["images"][0]["predictions"]) {
    names.push_back(guess["class"]);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("blue", "red ones", "2", "3"));
}

TEST_F(FolderPredictionTest, WrongUsageIsNamed) {
  train_on_folder();
  EXPECT_EQ(predict({}).exit_code, 2);
  EXPECT_THAT(predict({""}).messages, HasSubstr("IMAGE: the name of a file or folder is empty"));
  fs::create_directory(folder_ / "empty");
  EXPECT_THAT(predict({(folder_ / "empty").string()}).messages, HasSubstr("no images below"));
  fs::remove(folder_ / "run" / "mean.safetensors");
  EXPECT_THAT(predict({(data_ / "val").string()}).messages,
              HasSubstr("mean.safetensors is missing"));
}

// Every test image as a PNG gives what its record gives.
TEST_F(PredictionTest, ReadsFilesAsTheRecordsOfIdxFiles) {
  write_idx_folder(data_, 40, 12);
  train({"--data", data_.string(), "--epochs", "1"});
  Words words = {"--json", "--top", "100"};
  for (int i = 0; i < 12; ++i) {
    const std::string file = (folder_ / ("images/" + std::to_string(i) + ".png")).string();
    write_file(file, png(20, 18, PngColour::kGrey, idx_levels(1, i)));
    words.push_back(file);
  }
  const Outcome outcome = predict(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_TRUE(outcome.json()["scaled"].empty());
  expect_as_evaluated(outcome.json(), [](const std::string& path) {
    return static_cast<std::size_t>(idx_label(1, std::stoi(fs::path(path).stem().string())));
  });
}

TEST_F(PredictionTest, NotesThatAnImageWasScaledToTheSizeOfIdxFiles) {
  write_idx_folder(data_, 40, 12);
  train({"--data", data_.string(), "--steps", "2"});
  write_file(folder_ / "large.png", plain_png(50, 30, 9, 9, 9));
  const Outcome outcome = predict({(folder_ / "large.png").string()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.messages, HasSubstr("1 image was scaled to 20 x 18, the size in training: " +
                                          (folder_ / "large.png").string() + " (50 x 30)"));
}

// A drawn image, rounded to whole levels, keeps its class wherever the network is sure of it.
TEST_F(PredictionTest, DrawnShapesAsFilesKeepTheirClasses) {
  train({"--images", "800", "--epochs", "3"});
  std::ostringstream messages;
  Console console(messages, {});
  TrainedNetwork trained = load_network({.checkpoint = run_}, kImagesOnly, console);
  trained.options = resolved(trained.options);
  const ShapesDataset shapes({.size = 30, .channels = 1, .height = 28, .width = 28}, Split::kTest,
                             Philox{0});
  std::vector<std::vector<Guess>> expected;
  const auto run = inference_run(trained, {1, 28, 28, 10});
  for_each_image(run->context, *run->model, shapes, {.batch_size = 4},
                 [&](std::size_t, std::span<const float> logits, std::int32_t) {
                   expected.push_back(top_guesses(logits, 10));
                 });
  std::vector<fs::path> files;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<float> image(shapes.image_shape().elements());
    std::int32_t label = 0;
    shapes.read({.index = i}, image.data(), &label);
    FileBytes levels;
    for (const float value : image) {
      levels.push_back(static_cast<std::uint8_t>(std::lround((value * 0.25f + 0.5f) * 255)));
    }
    files.push_back(folder_ / (std::to_string(i) + ".png"));
    write_file(files.back(), png(28, 28, PngColour::kGrey, levels));
  }
  const Predictions predictions = skyline::predict(trained, files, 10);
  ASSERT_EQ(predictions.images.size(), shapes.size());
  std::size_t sure = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<Guess>& guesses = predictions.images[i].guesses;
    EXPECT_NEAR(guesses[0].probability, expected[i][0].probability, 0.05) << i;
    if (expected[i][0].probability - expected[i][1].probability < 0.1) continue;
    EXPECT_EQ(guesses[0].label, expected[i][0].label) << i;
    ++sure;
  }
  EXPECT_GT(sure, 5u);
}

}  // namespace
}  // namespace skyline
