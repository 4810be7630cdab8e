// Training, evaluating and checking IDX files through the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/images/idx/idx_folder.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/idx_folder_files.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/images/image_data.h"
#include "train/images/trained_network.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class IdxTrainingTest : public ::testing::Test {
 protected:
  IdxTrainingTest() { write_idx_folder(data_, 30, 12); }

  Outcome train(const Words& more = {}) {
    Words words = {
        "train",           "--model", "mlp",       "--data", data_.string(), "--epochs", "1",
        "--out",           run_,      "--threads", "1",      "--batch-size", "5",        "--json",
        "--learning-rate", "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  TrainedData trained() { return trained_data(load_checkpoint(run_).checkpoint.position.data); }

  const TemporaryFolder folder_;
  const fs::path data_ = folder_ / "My Fashion clothes";
  const std::string run_ = (folder_ / "run").string();
};

TEST_F(IdxTrainingTest, IsNotNamedByItsFolder) {
  const Outcome outcome = train();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["data"], "My Fashion clothes");
  const Normalisations figures = normalisation_of(read_idx_split(data_, Split::kTrain));
  EXPECT_THAT(outcome.messages,
              HasSubstr("IDX files: My Fashion clothes, no collection that is known, classes 0 to "
                        "2; " +
                        normalisation_text(figures, 1)));
  EXPECT_THAT(trained().class_names, ElementsAre("0", "1", "2"));
  EXPECT_EQ(trained().normalisation, figures);
  EXPECT_EQ(trained().input, (ImageShape{1, 18, 20}));
}

TEST_F(IdxTrainingTest, ClassesHaveTheNamesOfAFile) {
  const std::string names = (folder_ / "names.txt").string();
  write_text(names, "dark\ngrey\nbright\n");
  const Outcome outcome = train({"--class-names", names});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(trained().class_names, ElementsAre("dark", "grey", "bright"));
  fs::remove(names);
  EXPECT_EQ(skyline_program({"evaluate", run_}).exit_code, 0) << "the run keeps them";
  write_text(names, "dark\ngrey\n");
  const Outcome fewer = train({"--class-names", names, "--out", (folder_ / "b").string()});
  EXPECT_EQ(fewer.exit_code, 1);
  EXPECT_THAT(fewer.messages, HasSubstr("label of record 2 (counted from 0) has no class"));
}

TEST_F(IdxTrainingTest, ClassNamesAreRefusedWhereTheyDoNothing) {
  const std::string names = (folder_ / "names.txt").string();
  write_text(names, "a\nb\n");
  write_image_folder(folder_ / "images", 4, 2);
  for (const std::string& data : {std::string("shapes"), (folder_ / "images").string()}) {
    const Outcome outcome = train({"--data", data, "--class-names", names});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.messages, HasSubstr("--class-names is for lists and IDX files"));
  }
}

// The test images alone, and training images of another brightness beside them.
TEST_F(IdxTrainingTest, EvaluationsUseTheTrainingsNormalisation) {
  const nlohmann::json trained_result = train().json();
  const auto evaluated = [this](const Words& more) {
    Words words = {"evaluate", run_, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(normalisation_text(*trained().normalisation, 1)));
    return outcome.json();
  };
  const double loss = evaluated({})["loss"];
  EXPECT_EQ(evaluated({})["top1"], trained_result["top1"]);
  write_file(data_ / "train-images-idx3-ubyte", idx_bytes({30, 18, 20}, Bytes(30 * 18 * 20, 250)));
  EXPECT_EQ(evaluated({})["loss"], loss);
  fs::create_directory(folder_ / "elsewhere");
  for (const char* file : {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    fs::rename(data_ / file, folder_ / "elsewhere" / file);
  }
  EXPECT_EQ(evaluated({"--data", (folder_ / "elsewhere").string()})["loss"], loss);
}

TEST_F(IdxTrainingTest, ResumingKeepsTheNormalisation) {
  ASSERT_EQ(train({"--steps", "3"}).exit_code, 0);
  const std::optional<Normalisations> before = trained().normalisation;
  write_file(data_ / "train-images-idx3-ubyte", idx_bytes({30, 18, 20}, Bytes(30 * 18 * 20, 250)));
  const Outcome outcome = skyline_program({"train", "--resume", run_, "--steps", "5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr(normalisation_text(*before, 1)));
  EXPECT_EQ(trained().normalisation, before);
  EXPECT_EQ(load_checkpoint(run_).checkpoint.position.step, 5);
}

// By the digests of the label files of both splits; the files themselves are too large for a test.
TEST(IdxNaming, KnowsTheLabelFilesOfBothCollections) {
  for (const char* digest : {"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                             "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}) {
    EXPECT_EQ(known_collection_name(digest), "mnist");
  }
  for (const char* digest : {"bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                             "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}) {
    EXPECT_EQ(known_collection_name(digest), "fashion-mnist");
  }
  EXPECT_EQ(known_collection_name("65a5"), "");
}

// A known set is known by its label files, whatever they are called and however they are packed.
TEST(IdxNaming, RecognisesKnownLabels) {
  const IdxNaming naming = idx_naming({.data = "/data/clothes"});
  const IdxArray unknown{{3}, {0, 11, 2}};
  EXPECT_EQ(naming(&unknown, nullptr).name, "clothes");
  EXPECT_FALSE(naming(&unknown, nullptr).recognised);
  EXPECT_EQ(naming(&unknown, nullptr).class_names.size(), 12u);
  EXPECT_EQ(naming(nullptr, &unknown).class_names.size(), 12u);
  EXPECT_EQ(naming(nullptr, nullptr).class_names.size(), 0u);
  EXPECT_EQ(idx_naming({.data = "a", .classes = 20})(&unknown, nullptr).class_names.back(), "19");
  const char* real = std::getenv("SKYLINE_FASHION_MNIST");
  if (real == nullptr) GTEST_SKIP() << "SKYLINE_FASHION_MNIST names no folder of Fashion-MNIST";
  const IdxArray labels = read_idx_split(real, Split::kTrain).labels;
  const IdxArray test_labels = read_idx_split(real, Split::kTest).labels;
  for (const IdxCollection& found :
       {naming(&labels, &test_labels), naming(nullptr, &test_labels)}) {
    EXPECT_TRUE(found.recognised);
    EXPECT_EQ(found.name, "fashion-mnist");
    EXPECT_EQ(found.class_names.at(9), "ankle boot");
  }
  EXPECT_EQ(normalisation_of(read_idx_split(real, Split::kTrain))[0],
            (Normalisation{0.286, 0.353}));
}

TEST_F(IdxTrainingTest, AFolderOfClassesIsNoIdxFolderWhateverElseItHolds) {
  write_image_folder(data_, 6, 3);
  const Outcome outcome = train({"--insize", "16"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(trained().class_names, ElementsAre("blue", "red ones"));
  EXPECT_THAT(skyline_program({"check-data", data_.string()}).output, HasSubstr("18 images of 2"));
}

TEST_F(IdxTrainingTest, CheckDataCountsEveryImage) {
  const Outcome outcome = skyline_program({"check-data", data_.string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("IDX: 42 images\n"), HasSubstr("20 x 18"),
                                    HasSubstr("My Fashion clothes: 42 images of 3 classes in")));
  write_file(data_ / "t10k-labels-idx1-ubyte", idx_bytes({12}, Bytes(12, 3)));
  const Outcome bad = skyline_program({"check-data", data_.string(), "--json"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_EQ(bad.json()["bad"].size(), 12u);
  EXPECT_EQ(bad.json()["classes"][0]["train"], 10);
  EXPECT_EQ(bad.json()["classes"][0]["val"], 0);
  const Outcome more = skyline_program({"check-data", data_.string(), "--classes", "4", "--json"});
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_EQ(more.json()["classes"][3]["val"], 12);
}

TEST_F(IdxTrainingTest, CheckDataReadsTexts) {
  write_text(folder_ / "a.en", "a cat\na dog\n\na cow\n");
  write_text(folder_ / "a.fr", "un chat\nun chien\nrien\nune \xff vache\n");
  write_text(folder_ / "a.tsv", "a cat\tun chat\na dog\n");
  const Words words = {"check-data", "--source", (folder_ / "a.en").string(), "--target",
                       (folder_ / "a.fr").string()};
  const Outcome outcome = skyline_program(words);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("line 4, byte 5: 0xff is not UTF-8"), HasSubstr("4 pairs: 2 kept"),
                    HasSubstr("3 different words of the source, 3 of the target")));
  const Outcome tab = skyline_program({"check-data", (folder_ / "a.tsv").string(), "--json"});
  EXPECT_EQ(tab.exit_code, 1);
  EXPECT_EQ(tab.json()["pairs"], 1);
  EXPECT_EQ(skyline_program({"check-data", "x", "--source", "a", "--target", "b"}).exit_code, 2);
}

}  // namespace
}  // namespace skyline
