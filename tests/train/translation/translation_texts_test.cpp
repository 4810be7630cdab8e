// Sources of a translation model's sentences on the command line, and the messages about faulty
// files.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "data/host.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/cli/usage_error.h"
#include "train/translation/translation_data.h"

namespace skyline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

class TranslationTexts : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string lines(const std::string& name, int count, const std::string& line) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line + "\n";
    return write(name, text);
  }

  // Trains a tiny model for one step.
  Outcome train(Words more) {
    Words words = {"train", "--model",   "seq2seq", "--units", "4",      "--layers",
                   "1",     "--steps",   "1",       "--out",   out(),    "--batch-size",
                   "2",     "--threads", "1",       "--json",  "--seed", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  Outcome translate(Words more) {
    Words words = {"translate", out(), "--threads", "1", "--max-length", "3"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  std::string out() const { return (folder_ / "run").string(); }

  TemporaryFolder folder_;
};

TEST_F(TranslationTexts, OfSeveralFilesFollowEachOther) {
  const std::string a = lines("a.en", 30, "a cat"), b = lines("b.en", 10, "a dog"),
                    c = lines("a.fr", 30, "un chat"), d = lines("b.fr", 10, "un chien");
  for (const Words& files : {Words{"--source", a + "," + b, "--target", c + "," + d},
                             Words{"--source", a, "--target", c, "--source", b, "--target", d},
                             Words{"--source", a, b, "--target", c, d}}) {
    const Outcome outcome = train(files);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    EXPECT_EQ(outcome.json()["data"], "a.en and 1 more");
    EXPECT_EQ(outcome.json()["pairs"], 38) << "two are kept apart";
    EXPECT_EQ(outcome.json()["source_words"], 2 + 3);
    EXPECT_GT(outcome.json()["words_per_second"], 0.0);
    std::filesystem::remove_all(out());
  }
}

TEST_F(TranslationTexts, WithoutPartnerAreNamed) {
  const std::string a = lines("a.en", 4, "a"), b = lines("b.en", 3, "b"), c = lines("a.fr", 4, "c");
  const auto refused = [this](const Words& words, const std::string& why, int exit_code) {
    const Outcome outcome = train(words);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.messages, HasSubstr(why));
    EXPECT_EQ(outcome.output, "");
  };
  refused({"--source", a + "," + b, "--target", c}, "--source names 2 files, --target 1: '" + b, 2);
  refused({"--source", a}, "--source and --target belong together", 2);
  refused({"--source", "", "--target", c}, "--source: one of its file names is empty", 2);
  refused({"--source", a, "--target", c, "--data", b}, "--data and --source exclude", 2);
  refused({"--source", a + "," + b, "--target", c + "," + c},
          "[" + c + "] lines, got 4, expected 3, as many as in " + b, 1);
  refused({"--source", a + ",nowhere.en", "--target", c + "," + c}, "[nowhere.en] no such file", 1);
  refused({"--source", a, "--targt", c}, "did you mean '--target'", 2);
  refused({"--source", a, "--target", c, "--insize", "32"},
          "--insize is for models that read images, got --model seq2seq", 2);
  refused({"--source", a, "--target", c, "--no-prefetch"},
          "--no-prefetch is for models that read images", 2);
  refused({"--source", a, "--target", c, "--fused-update", "--clip", "5"}, "give --clip 0", 2);
  const Outcome lenet =
      skyline_program({"train", "--model", "lenet", "--source", a, "--target", c});
  EXPECT_EQ(lenet.exit_code, 2);
  EXPECT_THAT(lenet.messages,
              HasSubstr("--source is for models that translate, got --model lenet"));
}

TEST_F(TranslationTexts, WithFaultsNameFileLineAndWhatWasDone) {
  const std::string source = write("s", "a b\n\na b c d\nx\xff\n" + std::string(44, '\n'));
  const std::string target = lines("t", 48, "c d");
  const std::string good = lines("g", 40, "a b"), done = "; the pair was skipped";
  const Outcome outcome = train({"--source", source + "," + good, "--target",
                                 target + "," + lines("h", 40, "c d"), "--max-words", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(
      outcome.messages,
      AllOf(HasSubstr("88 pairs: 41 kept"),
            HasSubstr("[" + source + "] line 2, no word" + done + ", as were 44 more such pairs"),
            HasSubstr("[" + source + "] line 3, 4 words" + done),
            HasSubstr("[" + source + "] line 4, byte 2: 0xff is not UTF-8" + done)));
}

TEST_F(TranslationTexts, ToTranslateAreCheckedBeforehand) {
  ASSERT_EQ(train({"--source", lines("s", 40, "a b"), "--target", lines("t", 40, "c d")}).exit_code,
            0);
  const auto said = [this](const Words& words, const std::string& why, int exit_code) {
    const Outcome outcome = translate(words);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.messages, HasSubstr(why));
  };
  EXPECT_EQ(translate({""}).output, "\n") << "an empty sentence is one";
  const std::string two = lines("two", 2, "a"), bad = write("bad", "a\n\xff\n");
  said({"--input", two, "--reference", lines("one", 1, "a")}, "lines, got 1, expected 2", 1);
  const std::string cr = write("cr", "a\rb\r");
  said({"--input", cr}, "[" + cr + "] lines end in CR alone", 0);
  said({"--input", bad}, "[" + bad + "] line 2, byte 1: 0xff is not UTF-8", 1);
  said({"a", "--input", two}, "SENTENCE and --input exclude each other", 2);
  said({"a", "--length-penalty", "nan"}, "--length-penalty: nan is out of range", 2);
  const Outcome evaluated = skyline_program({"evaluate", out()});
  EXPECT_EQ(evaluated.exit_code, 2);
  EXPECT_THAT(evaluated.messages, HasSubstr("use skyline translate"));
  write("run/target.vocabulary.txt", "<UNK>\n<EOS>\nother\n");
  said({"a"}, "[" + out() + "] the target's vocabulary is not the one", 1);
}

// Each word once, in their order, from an argument and from a file.
TEST_F(TranslationTexts, WithUnknownWordsNameThem) {
  ASSERT_EQ(
      train({"--source", lines("a.en", 30, "a cat"), "--target", lines("a.fr", 30, "un chat")})
          .exit_code,
      0);
  const Outcome known = translate({"a cat", "--json"});
  EXPECT_EQ(known.messages.find("unknown"), std::string::npos) << known.messages;
  EXPECT_TRUE(known.json()["unknown_words"].empty());
  const Outcome one = translate({"a zebra"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.messages, HasSubstr("warning: 1 word is not in the source's vocabulary and read "
                                      "as unknown: zebra\n"));
  const std::string file = write("b.en", "zebra and cat\na zebra\nyak and\n");
  EXPECT_THAT(translate({"--input", file}).messages,
              HasSubstr("3 words are not in the source's vocabulary and read as unknown: zebra, "
                        "and, yak\n"));
  EXPECT_EQ(translate({"--input", file, "--json"}).json()["unknown_words"],
            (nlohmann::json{"zebra", "and", "yak"}));
}

std::vector<std::size_t> held(const std::vector<int>& sources) {
  std::vector<std::string> words;
  for (const int source : sources) words.push_back(fmt::format("{}", source));
  const std::vector<bool> out = held_out(std::vector<std::string_view>(words.begin(), words.end()));
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i]) pairs.push_back(i);
  }
  return pairs;
}

TEST(HeldOutPairs, AreOneInTwentyAndTakeTheirSourcesAlong) {
  std::vector<int> words(60);
  std::iota(words.begin(), words.end(), 0);
  EXPECT_THAT(held(words), ElementsAre(19, 39, 59));
  words[3] = words[50] = words[19];
  EXPECT_THAT(held(words), ElementsAre(3, 19, 50)) << "which are enough";
  words[58] = words[39];
  EXPECT_THAT(held(words), ElementsAre(3, 19, 50));
  for (std::size_t i = 0; i < 8; ++i) words[i] = words[19];  // 10 of 60
  EXPECT_THAT(held(words), ElementsAre(20, 39, 58)) << "too many for one source";
  words.assign(60, 1);
  words[59] = 2;
  EXPECT_THAT(held(words), testing::IsEmpty()) << "one of 60 is too few";
  EXPECT_THAT(held(std::vector<int>(19, 1)), testing::IsEmpty());
  EXPECT_THAT(held(std::vector<int>(100, 1)), testing::IsEmpty());
}

// Sentences with several translations follow each other, as in lists of them.
TEST_F(TranslationTexts, HeldOutShareNoSourceWithTheTraining) {
  std::string text, numbers;
  for (int i = 0; i < 50; ++i) {
    for (const char* end : {"a", "b", "c", "d"}) {
      text +=
          fmt::format("{} x\t{} {}\n", std::string(static_cast<std::size_t>(i) + 1, 'w'), end, end);
      numbers += fmt::format("w {}\tv {} {}\n", 100 + i, 100 + i, end);
    }
  }
  const Outcome outcome = train({"--data", write("pairs.tsv", text)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("held out 12 of 200 pairs to validate: no source of "
                                          "theirs is in the training text\n"));
  std::filesystem::remove_all(out());
  EXPECT_THAT(train({"--data", write("numbers.tsv", numbers)}).messages,
              HasSubstr("held out 12 of 200 pairs to validate: their sources differ from those of "
                        "the training text in digits alone\n"));
  std::filesystem::remove_all(out());
  const Outcome one = train({"--source", lines("s", 40, "a"), "--target", lines("t", 40, "b")});
  EXPECT_THAT(one.messages, HasSubstr("held out 2 of 40 pairs to validate: their sources are in "
                                      "the training text, too"));
}

TEST_F(TranslationTexts, ToValidateMayHaveSourcesOfTheTraining) {
  const Words training = {"--source", write("s", "a b\nc\nd\na b\n"), "--target",
                          lines("t", 4, "x")};
  const auto messages = [&](const std::string& sources) {
    Words words = training;
    words.insert(words.end(),
                 {"--val-source", write("vs", sources), "--val-target", lines("vt", 3, "y")});
    std::filesystem::remove_all(out());
    return train(words).messages;
  };
  EXPECT_THAT(messages("a b\nnew\na b\n"),
              HasSubstr("2 of 3 validation pairs have a source that is in the training text\n"));
  EXPECT_EQ(messages("a\nnew\nb a\n").find("validation pairs have"), std::string::npos);
}

// The words are learnt without their digits, which come from the sentence to translate; the score
// is of the text as it is printed.
TEST_F(TranslationTexts, WithDigitsKeepThem) {
  std::string english, french;
  for (int i = 0; i < 80; ++i) {
    const int number = 10 + i * 37 % 90;
    english += fmt::format("I have {} cats.\n", number);
    french += fmt::format("J'ai {} chats.\n", number);
  }
  const std::string source = write("s", english), target = write("t", french);
  const Outcome trained = train({"--source", source, "--target", target, "--val-source", source,
                                 "--val-target", target, "--units", "16", "--batch-size", "8",
                                 "--steps", "60", "--lr", "0.03", "--dropout", "0"});
  ASSERT_EQ(trained.exit_code, 0) << trained.messages;
  EXPECT_EQ(trained.json()["bleu"], 100.0);
  EXPECT_EQ(trained.json()["exact_match"], 1.0);
  const auto translated = [&](Words more) {
    Words words = {"translate", out(), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words).json();
  };
  EXPECT_EQ(translated({"I have 71 cats."})["translations"][0]["translation"], "J'ai 71 chats.");
  EXPECT_EQ(
      translated({"I have cats."})["translations"][0]["translation"].get<std::string>().find('0'),
      std::string::npos);
  EXPECT_EQ(translated({"--input", source, "--reference", target})["bleu"], 100.0);
  const std::string zeros = lines("zeros", 80, "J'ai 00 chats.");
  const auto wrong = translated({"--input", source, "--reference", zeros});
  EXPECT_LT(wrong["bleu"], 50.0);
  EXPECT_EQ(wrong["exact_match"], 0.0);
  EXPECT_EQ(wrong["bleu_signature"], "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
}

TEST(CompareCommandTest, GivesAnAllocatorADeviceOfItsOwnCapacity) {
  const auto compare = [](const std::string& allocators) {
    return skyline_program(
        {"compare", "--model",   "seq2seq",  "--pairs", "40",           "--val-pairs", "5",
         "--units", "4",         "--layers", "1",       "--batch-size", "4",           "--steps",
         "3",       "--threads", "1",        "--json",  "--allocators", allocators});
  };
  const Outcome outcome = compare("exact-pool,pool@1GiB,exact-pool@4KiB");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  const auto allocators = outcome.json()["allocators"];
  EXPECT_TRUE(allocators["exact-pool"]["fits"]);
  EXPECT_TRUE(allocators["best-fit-pool@1GiB"]["fits"]);
  EXPECT_FALSE(allocators["exact-pool@4KiB"]["fits"]);
  for (const auto& [names, why] : {std::pair("pool@1GB", "did you mean '1GiB'"),
                                   {"pool@1GiB,best-fit-pool@1024MiB", "is given twice"},
                                   {"poool@1GiB", "did you mean 'pool'"}}) {
    const Outcome refused = compare(names);
    EXPECT_EQ(refused.exit_code, 2) << names;
    EXPECT_THAT(refused.messages, AllOf(HasSubstr("--allocators: "), HasSubstr(why)));
  }
}

// The known counts, read through the command's options.
TEST_F(TranslationTexts, OfWmtTogetherHaveTheKnownCounts) {
  const char* texts = std::getenv("SKYLINE_TEXTS");
  if (texts == nullptr) GTEST_SKIP() << "SKYLINE_TEXTS names no folder of texts";
  TextOptions options;
  for (const char* name : {"news-test2008", "newssyscomb2009", "newstest2009", "newstest2010",
                           "newstest2011", "newstest2012"}) {
    options.source.push_back(std::string(texts) + "/" + name + ".en");
    options.target.push_back(std::string(texts) + "/" + name + ".fr");
  }
  options.val_source = {std::string(texts) + "/newstest2013.en"};
  options.val_target = {std::string(texts) + "/newstest2013.fr"};
  options = resolved(options);
  const TranslationData data = open_translation_data(options, "", 0);
  EXPECT_EQ(data.train_summary.lines, 13'573u);
  EXPECT_EQ(data.train.source.size(), 12'165u);
  EXPECT_EQ(data.val.source.size(), 3'000u);
  EXPECT_EQ(data.vocabularies.source.size(), 25'669u + 2);
  EXPECT_EQ(data.vocabularies.target.size(), 29'730u + 2);
}

}  // namespace
}  // namespace skyline
