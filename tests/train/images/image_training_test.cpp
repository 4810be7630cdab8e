// Training, evaluating and checking image files through the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class ImageTrainingTest : public ::testing::Test {
 protected:
  ImageTrainingTest() { write_image_folder(data_, 8, 3); }

  // Trains LeNet for 2 epochs of 4 steps on 16 x 16 crops of 20 x 20 pixels.
  Outcome train(const std::string& out, const std::vector<std::string>& more = {},
                bool with_data = true) {
    std::vector<std::string> words = {
        "train",       "--model",      "lenet", "--insize",        "16",  "--resize",
        "20",          "--epochs",     "2",     "--threads",       "1",   "--out",
        folder_ / out, "--batch-size", "4",     "--learning-rate", "0.01"};
    if (with_data) words.insert(words.end(), {"--data", data_.string()});
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  Checkpoint last(const std::string& run) { return load_checkpoint(folder_ / run).checkpoint; }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  const TemporaryFolder folder_;
  const fs::path data_ = folder_ / "some data";
};

TEST_F(ImageTrainingTest, TrainsOnAFolderAndKeepsItsMean) {
  const Outcome outcome = train("run", {"--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["data"], "some data");
  EXPECT_EQ(outcome.json()["steps"], 8);
  EXPECT_EQ(outcome.json()["top5"], nullptr) << "of two classes";
  EXPECT_TRUE(outcome.json()["data_wait_seconds"].is_number());
  EXPECT_TRUE(outcome.json()["bad_images"].empty());
  EXPECT_THAT(outcome.messages, HasSubstr("mean of 16 training images taken in"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "mean.safetensors"));
  std::ifstream log(folder_ / "run" / "log.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(log, line));
  EXPECT_TRUE(parsed_json(line).contains("data_wait"));
}

TEST_F(ImageTrainingTest, DecodingThreadsChangeNoBit) {
  ASSERT_EQ(train("one", {"--decode-threads", "1"}).exit_code, 0);
  ASSERT_EQ(train("five", {"--decode-threads", "5"}).exit_code, 0);
  EXPECT_EQ(host_copies(last("one").weights), host_copies(last("five").weights));
}

TEST_F(ImageTrainingTest, ResumingInAnEpochChangesNoBitAndTakesTheMeanOnce) {
  ASSERT_EQ(train("whole", {"--checkpoint-every", "1"}).exit_code, 0);
  // Two checkpoints are kept. The run resumes from step 7, in the middle of the second epoch.
  fs::copy(folder_ / "whole", folder_ / "again",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const std::string from = (folder_ / "again/checkpoints/step-000000007").string();
  const Outcome outcome = skyline_program({"train", "--resume", from});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, Not(HasSubstr("mean of")));
  EXPECT_EQ(host_copies(last("again").weights), host_copies(last("whole").weights));
  EXPECT_EQ(last("again").position.step, 8);
}

TEST_F(ImageTrainingTest, ResumingWithoutTheMeanTakesItAgain) {
  ASSERT_EQ(train("run").exit_code, 0);
  fs::remove(folder_ / "run" / "mean.safetensors");
  const Outcome outcome = skyline_program({"train", "--resume", (folder_ / "run").string()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.messages, HasSubstr("mean.safetensors is missing in"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "mean.safetensors"));
}

TEST_F(ImageTrainingTest, BadImagesAreNamedOnceSkippedAndSummedUp) {
  write_bad_images(data_);
  const Outcome outcome = train("run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const std::string root = data_.string();
  for (const char* name :
       {"/train/blue/bad 1.jpg", "/train/blue/bad 2.jpg", "/val/blue/bad \"3\".jpg"}) {
    EXPECT_EQ(count(outcome.messages, "skipped " + root + name), 1u) << outcome.messages;
  }
  EXPECT_THAT(outcome.messages, HasSubstr("mean of 16 training images taken in"));
  EXPECT_THAT(outcome.messages, HasSubstr(" s; 2 could not be read"));
  EXPECT_THAT(outcome.output, HasSubstr("3 images could not be read: " + root +
                                        "/train/blue/bad 1.jpg (file ends early, after 248 "
                                        "bytes); "));
  EXPECT_EQ(train("again", {"--json"}).json()["bad_images"].size(), 3u);
}

// A tenth of a data set of 440 images is damaged, in ten ways.
TEST_F(ImageTrainingTest, FortyBadImagesAmongFourHundredGoodOnesAreNamedOnce) {
  write_image_folder(data_, 200, 3);
  const FileBytes jpeg = progressive_jpeg(), picture = plain_png(9, 7, 1, 2, 3);
  FileBytes no_tables = baseline_jpeg(), flipped = picture;
  no_tables.erase(no_tables.begin() + 20, no_tables.begin() + 154);
  flipped[flipped.size() - 22] ^= 0x40;
  const std::vector<FileBytes> kinds = {{},
                                        {'G', 'I', 'F', '8', '9', 'a'},
                                        {'h', 'e', 'l', 'l', 'o'},
                                        {jpeg.begin(), jpeg.end() - 30},
                                        {picture.begin(), picture.end() - 16},
                                        no_tables,
                                        flipped,
                                        png_claiming(50'000, 50'000),
                                        png_claiming(300, 300),
                                        png_of_reserved_block()};
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "train/blue/bad " + std::to_string(100 + i) + ".png";
    write_file(data_ / name, kinds[static_cast<std::size_t>(i) % kinds.size()]);
    names.push_back((data_ / name).string());
  }
  const Outcome trained = train("run", {"--batch-size", "44"});
  ASSERT_EQ(trained.exit_code, 0) << trained.messages;
  EXPECT_EQ(last("run").position.step, 20);
  const Outcome checked = skyline_program({"check-data", data_.string()});
  EXPECT_EQ(checked.exit_code, 1);
  for (const std::string& name : names) {
    EXPECT_EQ(count(trained.messages, "skipped " + name + ": "), 1u) << name;
    EXPECT_EQ(count(checked.output, "bad: " + name + ": "), 1u) << name;
  }
  EXPECT_THAT(checked.output, HasSubstr("446 images of 2 classes"));
  EXPECT_THAT(checked.output, HasSubstr(", 40 bad\n"));
}

TEST_F(ImageTrainingTest, CheckDataCountsWhatExifTurns) {
  write_file(data_ / "train/blue/8.png",
             png_with_exif(plain_png(9, 7, 1, 2, 3), exif_block(6, true)));
  write_file(data_ / "train/blue/9.jpg", jpeg_with_exif(baseline_jpeg(), exif_block(3, false)));
  const Outcome text = skyline_program({"check-data", data_.string()});
  EXPECT_EQ(text.exit_code, 0) << text.messages;
  EXPECT_THAT(text.output, HasSubstr("turned upright, as their EXIF orientation says: 2 images\n"));
  EXPECT_EQ(skyline_program({"check-data", data_.string(), "--json"}).json()["turned"], 2);
}

TEST_F(ImageTrainingTest, StrictFailsAtTheFirstBadImage) {
  write_bad_images(data_);
  const Outcome outcome = train("run", {"--strict"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages,
              HasSubstr("error: [" + data_.string() + "/train/blue/bad 1.jpg] file ends early"));
}

TEST_F(ImageTrainingTest, EveryMeanTrains) {
  for (const char* mean : {"none", "channel"}) {
    const Outcome outcome = train(mean, {"--mean", mean});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    EXPECT_EQ(fs::exists(folder_ / mean / "mean.safetensors"), std::string(mean) != "none");
    const Outcome evaluated = skyline_program({"evaluate", (folder_ / mean).string()});
    EXPECT_EQ(evaluated.exit_code, 0) << evaluated.messages;
  }
}

TEST_F(ImageTrainingTest, EvaluateFindsWhatTrainingFound) {
  write_bad_images(data_);
  const nlohmann::json trained = train("run", {"--json"}).json();
  const Outcome outcome = skyline_program({"evaluate", (folder_ / "run").string(), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["top1"], trained["top1"]);
  EXPECT_EQ(outcome.json()["images"], 6) << "without the bad one";
  EXPECT_EQ(outcome.json()["bad_images"].size(), 1u);
  EXPECT_EQ(outcome.json()["step"], 8);
  // Evaluates one checkpoint with another batch size on moved data without training images.
  fs::create_directory(folder_ / "elsewhere");
  fs::rename(data_ / "val", folder_ / "elsewhere/val");
  const Outcome moved =
      skyline_program({"evaluate", (folder_ / "run/checkpoints/latest").string(), "--data",
                       (folder_ / "elsewhere").string(), "--batch-size", "5", "--json"});
  ASSERT_EQ(moved.exit_code, 0) << moved.messages;
  EXPECT_EQ(moved.json()["top1"], trained["top1"]);
  EXPECT_NEAR(moved.json()["loss"].get<double>(), outcome.json()["loss"].get<double>(), 1e-5);
}

TEST_F(ImageTrainingTest, EvaluateRefusesOtherClasses) {
  ASSERT_EQ(train("run").exit_code, 0);
  fs::rename(data_ / "train/blue", data_ / "train/green");
  fs::rename(data_ / "val/blue", data_ / "val/green");
  const Outcome outcome = skyline_program({"evaluate", (folder_ / "run").string()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages,
              HasSubstr("class \"green\" is none of the 2 that the run was trained with: "
                        "'blue', 'red ones'"));
}

// The labels are the run's, whatever classes there are.
TEST_F(ImageTrainingTest, EvaluateTakesSomeOfTheClasses) {
  ASSERT_EQ(train("run").exit_code, 0);
  const auto all = skyline_program({"evaluate", folder_ / "run", "--json"}).json();
  fs::create_directories(folder_ / "some/val");
  fs::copy(data_ / "val/red ones", folder_ / "some/val/red ones");
  write_text(folder_ / "list.txt", "val/red ones/0.png\tred ones\n");
  for (const std::vector<std::string>& data :
       {std::vector<std::string>{"--data", folder_ / "some"},
        {"--data", folder_ / "some/val"},  // classes without a split
        {"--val-list", folder_ / "list.txt", "--root", data_.string()}}) {
    std::vector<std::string> words = {"evaluate", folder_ / "run", "--json"};
    words.insert(words.end(), data.begin(), data.end());
    const Outcome outcome = skyline_program(words);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
    EXPECT_EQ(outcome.json()["confusion"][0], (std::vector{0, 0}));
    if (data[0] == "--data") {
      EXPECT_EQ(outcome.json()["confusion"][1], all["confusion"][1]);
    }
  }
}

// The figures are in the arguments and in the weights' metadata; nothing is summed.
TEST_F(ImageTrainingTest, AFixedMeanNeedsNoPassAndIsSaidBesideTheWeights) {
  const Outcome outcome = train("run", {"--mean", "imagenet", "--no-mirror", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, Not(HasSubstr("mean of")));
  EXPECT_FALSE(fs::exists(folder_ / "run/mean.safetensors"));
  const auto metadata = [this](const std::string& run) {
    return read_safetensors(folder_ / run / "checkpoints/latest/weights.safetensors").metadata;
  };
  EXPECT_EQ(metadata("run"),
            (std::map<std::string, std::string>{
                {"format", "skyline"},
                {"input", "(level / 255 - mean) / deviation, with levels from 0 to 255"},
                {"input.channels", "red, green, blue"},
                {"input.deviation", "0.229, 0.224, 0.225"},
                {"input.mean", "0.485, 0.456, 0.406"},
                {"input.shape", "3, 16, 16"}}));
  const auto evaluated = skyline_program({"evaluate", folder_ / "run", "--json"}).json();
  EXPECT_EQ(evaluated["top1"], outcome.json()["top1"]);
  const Outcome numbers = train("numbers", {"--mean", "0.485,0.456,0.406", "--deviation",
                                            "0.229,0.224,0.225", "--no-mirror"});
  ASSERT_EQ(numbers.exit_code, 0) << numbers.messages;
  EXPECT_EQ(host_copies(last("numbers").weights), host_copies(last("run").weights));
  ASSERT_EQ(train("plain").exit_code, 0);
  EXPECT_THAT(metadata("plain").at("input.mean"), HasSubstr("mean.safetensors"));
  EXPECT_EQ(metadata("plain").at("input.deviation"), "1, 1, 1");
  EXPECT_NE(host_copies(last("plain").weights), host_copies(last("run").weights));
  for (const char* run : {"plain", "run"}) {
    const std::string again = folder_ / (std::string(run) + " again");
    const std::string arguments = folder_ / run / "arguments.json";
    EXPECT_EQ(skyline_program({"train", "--config", arguments, "--out", again}).exit_code, 0);
    EXPECT_EQ(host_copies(last(std::string(run) + " again").weights),
              host_copies(last(run).weights));
  }
  for (const auto& [flag, value] : {std::pair("--mean", "none"), {"--deviation", "1,1,1"}}) {
    const Outcome resumed =
        skyline_program({"train", "--resume", folder_ / "run", "--epochs", "3", flag, value});
    EXPECT_EQ(resumed.exit_code, 2);
    EXPECT_THAT(resumed.messages, HasSubstr("but the run to resume was started with"));
  }
}

TEST_F(ImageTrainingTest, AShareOfTrainIsHeldOut) {
  fs::remove_all(data_ / "val");
  const Outcome outcome = train("run", {"--val-split", "0.25", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const auto evaluated = skyline_program({"evaluate", folder_ / "run", "--json"}).json();
  EXPECT_EQ(evaluated["top1"], outcome.json()["top1"]);
  EXPECT_LT(evaluated["images"], 16);
  EXPECT_EQ(skyline_program({"train", "--resume", folder_ / "run", "--epochs", "3"}).exit_code, 0);
}

TEST_F(ImageTrainingTest, BatchNormalizationOfOneValueAChannelIsWarnedOf) {
  const auto messages = [this](const char* insize, const char* batch_size) {
    return skyline_program({"train", "--model", "resnet18", "--data", data_.string(), "--insize",
                            insize, "--batch-size", batch_size, "--steps", "1", "--threads", "1",
                            "--out", folder_ / (std::string(insize) + batch_size)})
        .messages;
  };
  EXPECT_THAT(messages("32", "1"), HasSubstr("5 batch normalizations see one value a channel"));
  EXPECT_THAT(messages("32", "2"), Not(HasSubstr("one value a channel")));
  EXPECT_THAT(messages("64", "1"), Not(HasSubstr("one value a channel")));
}

// Each change of the data shifts labels or gives batches other images; none may pass in silence.
TEST_F(ImageTrainingTest, ResumingOnOtherDataIsRefusedByName) {
  ASSERT_EQ(train("run", {"--steps", "3"}).exit_code, 0);
  const fs::path kept = folder_ / "kept";
  fs::copy(data_, kept, fs::copy_options::recursive);
  const auto in_both = [&](const auto& change) {
    for (const char* split : {"train", "val"}) change(data_ / split);
  };
  using Change = std::function<void()>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[&] { in_both([](const fs::path& of) { fs::rename(of / "blue", of / "zz_blue"); }); },
       "class 0, got \"red ones\", expected \"blue\", as in training"},
      {[&] { in_both([](const fs::path& of) { fs::rename(of / "red ones", of / "pink"); }); },
       "class 1, got \"pink\", expected \"red ones\", as in training"},
      {[&] { in_both([](const fs::path& of) { fs::remove_all(of / "blue"); }); },
       "number of classes, got 1, expected 2, as in training"},
      {[&] { in_both([](const fs::path& of) { fs::copy(of / "blue", of / "green"); }); },
       "number of classes, got 3, expected 2, as in training"},
      {[&] { fs::remove(data_ / "train/blue/3.png"); },
       "training images, got 15, expected 16, as in training"},
      {[&] { write_file(data_ / "train/blue/33.png", plain_png(9, 7, 1, 2, 3)); },
       "training images, got 17, expected 16, as in training"},
      {[&] { fs::remove(data_ / "val/red ones/0.png"); },
       "test images, got 5, expected 6, as in training"},
      {[&] { fs::rename(data_ / "train/blue/3.png", data_ / "train/blue/33.png"); },
       "SHA-256 of the images' names and labels, got "}};
  const std::string before = read_file(folder_ / "run/log.jsonl");
  for (const auto& [change, sentence] : cases) {
    change();
    for (const char* steps : {"2", "7"}) {
      const Outcome outcome =
          skyline_program({"train", "--resume", folder_ / "run", "--steps", steps});
      EXPECT_EQ(outcome.exit_code, 1) << sentence;
      EXPECT_THAT(outcome.messages, HasSubstr("error: [some data] " + sentence));
    }
    fs::remove_all(data_);
    fs::copy(kept, data_, fs::copy_options::recursive);
  }
  EXPECT_EQ(read_file(folder_ / "run/log.jsonl"), before);
  EXPECT_EQ(skyline_program({"train", "--resume", folder_ / "run", "--steps", "7"}).exit_code, 0);
}

TEST_F(ImageTrainingTest, EvaluateWithoutAMeanOrImagesToTakeItOfSaysSo) {
  ASSERT_EQ(train("run").exit_code, 0);
  fs::remove(folder_ / "run" / "mean.safetensors");
  fs::remove_all(data_ / "train");
  const Outcome outcome = skyline_program({"evaluate", (folder_ / "run").string()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages, HasSubstr("mean.safetensors is missing"));
}

TEST_F(ImageTrainingTest, ListsTrainAsTheFolderDoes) {
  std::string train_list, val_list;
  for (const auto& [split, list] : {std::pair{"train", &train_list}, {"val", &val_list}}) {
    int label = 0;
    for (const char* name : {"blue", "red ones"}) {
      std::vector<std::string> files;
      for (const auto& entry : fs::directory_iterator(data_ / split / name)) {
        files.push_back(entry.path().filename().string());
      }
      std::ranges::sort(files);
      for (const std::string& file : files) {
        *list += std::string(split) + "/" + name + "/" + file + " " + std::to_string(label) + "\n";
      }
      ++label;
    }
  }
  write_text(folder_ / "train.txt", train_list);
  write_text(folder_ / "val.txt", val_list);
  const Outcome by_list = train("list",
                                {"--train-list", folder_ / "train.txt", "--val-list",
                                 folder_ / "val.txt", "--root", data_.string()},
                                false);
  ASSERT_EQ(by_list.exit_code, 0) << by_list.messages;
  ASSERT_EQ(train("folder").exit_code, 0);
  EXPECT_EQ(host_copies(last("list").weights), host_copies(last("folder").weights));
  const Outcome evaluated = skyline_program({"evaluate", (folder_ / "list").string()});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.messages;
}

TEST_F(ImageTrainingTest, CompareTrainsOnAFolder) {
  const Outcome outcome = skyline_program(
      {"compare", "--model", "lenet", "--insize", "16", "--data", data_.string(), "--steps", "3",
       "--batch-size", "4", "--threads", "1", "--allocators", "planned,pool", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["bit_equal"], true);
}

TEST_F(ImageTrainingTest, AModelMayHaveMoreClasses) {
  const Outcome outcome = train("run", {"--classes", "7", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_TRUE(outcome.json()["top5"].is_number()) << "five guesses among seven classes";
  const Outcome fewer = train("fewer", {"--classes", "1"});
  EXPECT_EQ(fewer.exit_code, 2);
  EXPECT_THAT(fewer.messages, HasSubstr("--classes is 1, but some data has 2 classes"));
}

TEST_F(ImageTrainingTest, WrongUsageIsNamed) {
  const std::string list = folder_ / "list.txt";
  write_text(list, "some data/train/blue/0.png 0\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--data", data_.string(), "--val-list", list}, "--data and lists exclude each other"},
      {{"--train-list", list}, "--train-list needs --val-list"},
      {{"--root", data_.string()}, "--root needs --train-list or --val-list"},
      {{"--data", data_.string(), "--resize", "15"}, "--resize is 15, but the model reads 16"},
      {{"--data", data_.string(), "--mean", "imgae"}, "did you mean 'image'"},
      {{"--data", data_.string(), "--mean", "124,116,104"}, "is not three numbers R,G,B from 0"},
      {{"--data", data_.string(), "--deviation", "0,1,1"}, "is not three numbers R,G,B from 0.001"},
      {{"--val-list", list, "--val-split", "0.1"}, "--val-split and --val-list exclude each other"},
      {{"--data", list}, "is not a folder of images"},
  };
  for (const auto& [words, sentence] : cases) {
    const Outcome outcome = train("run", words, false);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
    EXPECT_EQ(count(outcome.messages, "\n"), 1u) << outcome.messages;
  }
}

TEST_F(ImageTrainingTest, CheckDataNamesEveryBadFile) {
  EXPECT_EQ(skyline_program({"check-data", data_.string()}).exit_code, 0);
  write_bad_images(data_);
  const Outcome outcome = skyline_program({"check-data", data_.string()});
  EXPECT_EQ(outcome.exit_code, 1);
  const std::string root = data_.string();
  EXPECT_THAT(outcome.output, HasSubstr("bad: " + root + "/train/blue/bad 2.jpg: file is empty\n"));
  EXPECT_THAT(outcome.output, HasSubstr("smallest: 9 x 7, "));
  EXPECT_THAT(outcome.output, HasSubstr("some data: 25 images of 2 classes in"));
  const nlohmann::json json = skyline_program({"check-data", root, "--json"}).json();
  EXPECT_EQ(json["images"], 25);
  EXPECT_EQ(json["formats"]["PNG"], 22);
  EXPECT_EQ(json["classes"][0]["bad"], 3);
  EXPECT_EQ(json["bad"].size(), 3u);
}

TEST_F(ImageTrainingTest, CheckDataRefusesWhatItCannotScan) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {(folder_ / "none").string(), "no data set"},
      {folder_.path().string(), "the class has no images, but folders 'train', 'val'"},
      {(data_ / "val/blue").string(), "neither an image folder (train/CLASS/*, val/CLASS/*, or "}};
  for (const auto& [path, sentence] : cases) {
    const Outcome outcome = skyline_program({"check-data", path});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
  }
  EXPECT_THAT(skyline_program({"check-data"}).messages, HasSubstr("no data given"));
}

}  // namespace
}  // namespace skyline
