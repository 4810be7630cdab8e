#include "train/images/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/decoding/image_decoder.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/idx_folder_files.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/report/page_data.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Matrix = std::vector<std::vector<std::int64_t>>;

// Adds an image that a network takes for `predicted`.
void add(Confusion& confusion, std::int32_t label, std::size_t predicted, float logit = 2) {
  std::vector<float> logits(confusion.names().size());
  logits[predicted] = logit;
  confusion.add(confusion.mistakes().size(), logits, label);
}

Confusion three_classes() {
  Confusion confusion({"ant", "bee"}, 3);
  for (int i = 0; i < 3; ++i) add(confusion, 0, 0);
  add(confusion, 0, 1);
  add(confusion, 1, 0);
  add(confusion, 1, 0);
  add(confusion, 1, 2);
  add(confusion, kNotCounted, 1);
  return confusion;
}

// sklearn.metrics.confusion_matrix([0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 0, 0, 2])
TEST(ConfusionTest, RowsAreTrueClassesAndColumnsPredictions) {
  const Confusion confusion = three_classes();
  EXPECT_EQ(confusion.matrix(), (Matrix{{3, 1, 0}, {2, 0, 1}, {0, 0, 0}}));
  EXPECT_THAT(confusion.names(), ElementsAre("ant", "bee", "2"));
  EXPECT_EQ(confusion.mistakes().size(), 4u);
}

TEST(ConfusionTest, ClassesKnowTheirRecallAndPrecision) {
  const std::vector<ClassResult> classes = three_classes().classes();
  EXPECT_EQ(classes[0].recall(), 0.75);
  EXPECT_EQ(classes[0].precision(), 0.6);
  EXPECT_EQ(classes[0].taken_for, "bee");
  EXPECT_EQ(classes[1].recall(), 0.0);
  EXPECT_EQ(classes[1].precision(), 0.0);
  EXPECT_EQ(classes[1].taken_for, "ant");
  EXPECT_EQ(classes[1].taken_images, 2);
  EXPECT_EQ(classes[2].recall(), std::nullopt) << "it has no images";
  EXPECT_EQ(classes[2].precision(), 0.0);
  EXPECT_EQ(Confusion({}, 1).classes()[0].precision(), std::nullopt);
}

TEST(ConfusionTest, EqualLogitsGoToTheLowerClass) {
  Confusion confusion({}, 3);
  add(confusion, 0, 1, 0);
  EXPECT_EQ(confusion.matrix()[0][0], 1);
}

TEST(ConfusionTest, TheTextHasAClassALineAndASmallMatrix) {
  const std::string text = confusion_text(three_classes());
  EXPECT_THAT(text, AllOf(HasSubstr("ant         4   75.00 %  bee (1)\n"),
                          HasSubstr("2           0         –  –\n"),
                          HasSubstr("1 bee              2  0  1\n")));
  Confusion many({}, 21);
  for (std::int32_t label = 0; label < 21; ++label) add(many, label, label == 20 ? 0 : label);
  const std::string longer = confusion_text(many);
  EXPECT_THAT(longer,
              HasSubstr("–\nthese have the lowest accuracy; --json and --report tell of all\n"));
  EXPECT_LT(longer.find("\n20 "), longer.find("\n0 ")) << "the worst first";
  Confusion few({}, 22);
  add(few, 3, 3);
  EXPECT_THAT(confusion_text(few), HasSubstr("3           1  100.00 %  –\n1 of 22 classes have"));
  EXPECT_EQ(Confusion({}, kMostMatrixClasses + 1).matrix(), Matrix{});
}

class ConfusionPageTest : public ::testing::Test {
 protected:
  // Returns what the command prints, and the page's data.
  std::pair<nlohmann::json, nlohmann::json> evaluated(const std::vector<std::string>& data) {
    std::vector<std::string> words = {
        "train", "--model", "lenet",         "--epochs",     "1", "--threads",
        "1",     "--out",   folder_ / "run", "--batch-size", "6"};
    words.insert(words.end(), data.begin(), data.end());
    const Outcome trained = skyline_program(words);
    EXPECT_EQ(trained.exit_code, 0) << trained.messages;
    const Outcome outcome =
        skyline_program({"evaluate", folder_ / "run", "--json", "--report", folder_ / "page.html"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    return {outcome.json(), page_data(read_file(folder_ / "page.html"))};
  }
  const TemporaryFolder folder_;
};

std::vector<std::uint8_t> from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    word = word << 6 | static_cast<std::uint32_t>(digits.find(c));
    if ((bits += 6) >= 8) bytes.push_back(static_cast<std::uint8_t>(word >> (bits -= 8)));
  }
  return bytes;
}

TEST_F(ConfusionPageTest, TheDiagonalIsTheAccuracyAndMistakesHavePictures) {
  const auto [json, page] = evaluated({"--data", "shapes", "--images", "60"});
  std::int64_t correct = 0, all = 0;
  for (std::size_t label = 0; label < 10; ++label) {
    correct += json["confusion"][label][label].get<std::int64_t>();
    for (const auto& images : json["confusion"][label]) all += images.get<std::int64_t>();
  }
  EXPECT_EQ(all, json["images"]);
  EXPECT_DOUBLE_EQ(static_cast<double>(correct) / static_cast<double>(all), json["top1"]);
  EXPECT_EQ(json["classes"][0]["name"], "disc");
  EXPECT_EQ(page["classes"], json["classes"]);
  ASSERT_EQ(page["pairs"].size(), 12u);
  EXPECT_GE(page["pairs"][0]["images"], page["pairs"][1]["images"]);
  const std::string image = page["pairs"][0]["pictures"][0]["image"];
  const std::string prefix = "data:image/png;base64,";
  ASSERT_TRUE(image.starts_with(prefix));
  const DecodedImage decoded = decode_image(from_base64(image.substr(prefix.size())));
  EXPECT_EQ(decoded.pixels.width, 28);
  EXPECT_EQ(decoded.header.kind, "PNG");
}

// A folder's pictures are whole images, IDX images grey; unreadable images are not counted.
TEST_F(ConfusionPageTest, PicturesAreOfTheImagesThatWereMistaken) {
  write_image_folder(folder_ / "images", 3, 8);
  write_bad_images(folder_ / "images");
  const auto [json, page] = evaluated({"--data", folder_ / "images"});
  EXPECT_EQ(json["classes"][0]["images"], 8) << "without the bad one";
  for (const auto& pair : page["pairs"]) {
    for (const auto& picture : pair["pictures"]) {
      const std::string name = picture["name"], text = picture["image"];
      const bool blue = name.starts_with("blue/");
      EXPECT_EQ(pair["label"], blue ? 0 : 1) << name;
      const DecodedImage decoded = decode_image(from_base64(text.substr(22)));
      EXPECT_EQ(decoded.pixels.data.get()[blue ? 2 : 0], 220) << name;
    }
  }
  EXPECT_GT(page["pairs"].size(), 0u);
  std::filesystem::remove_all(folder_ / "run");
  write_idx_folder(folder_ / "digits", 12, 9);
  const auto [digits, grey] = evaluated({"--data", folder_ / "digits"});
  EXPECT_EQ(digits["confusion"].size(), 3u);
  EXPECT_GT(grey["pairs"].size(), 0u);
}

}  // namespace
}  // namespace skyline
