#include "data/text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "data/text/parallel_text.h"
#include "tests/data/data_error_of.h"
#include "tests/data/text/text_files.h"

namespace skyline {
namespace {

using testing::ElementsAre;

TokenizedText some_text() {
  TokenizedText text{.words = {"rare", "often", "twice", "<EOS>", "also"},
                     .counts = {1, 9, 2, 50, 2}};
  text.sentences.push_back(std::vector<std::int32_t>{1, 0, 3});
  text.sentences.push_back(std::vector<std::int32_t>{4});
  return text;
}

TEST(Vocabulary, TakesTheMostFrequentWordsFirstOnesFirst) {
  const Vocabulary all = Vocabulary::most_frequent(some_text(), 100);
  EXPECT_EQ(all.file_text(), "<UNK>\n<EOS>\noften\ntwice\nalso\nrare\n");
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(Vocabulary::most_frequent(some_text(), 2).file_text(), "<UNK>\n<EOS>\noften\ntwice\n");
  EXPECT_EQ(Vocabulary::most_frequent(some_text(), 0).size(), 2u);
}

TEST(Vocabulary, GivesWordsAndIds) {
  const Vocabulary vocabulary("v", {"a", "b"});
  EXPECT_EQ(vocabulary.id("a"), 2);
  EXPECT_EQ(vocabulary.id("b"), 3);
  EXPECT_EQ(vocabulary.id("c"), kUnknownWord);
  EXPECT_EQ(vocabulary.word(3), "b");
  EXPECT_EQ(vocabulary.word(kUnknownWord), "<UNK>");
  EXPECT_EQ(vocabulary.word(kEndOfSentence), "<EOS>");
  EXPECT_THROW(vocabulary.word(4), std::out_of_range);
  EXPECT_THROW(vocabulary.word(-1), std::out_of_range);
}

// A text that spells a mark must not end a sentence.
TEST(Vocabulary, AMarkSpelledInATextIsUnknown) {
  const Vocabulary vocabulary("v", {"a"});
  EXPECT_EQ(vocabulary.id("<EOS>"), kUnknownWord);
  EXPECT_EQ(vocabulary.id("<UNK>"), kUnknownWord);
}

TEST(Vocabulary, EncodesAndDecodes) {
  const Vocabulary vocabulary("v", {"a", "b"});
  const std::vector<std::string_view> words = {"b", "x", "a"};
  EXPECT_THAT(vocabulary.encode(words), ElementsAre(3, 0, 2));
  EXPECT_THAT(vocabulary.decode(std::vector<std::int32_t>{3, 0, 2, 1, 3, 1}),
              ElementsAre("b", "<UNK>", "a"));
  EXPECT_THAT(vocabulary.decode(std::vector<std::int32_t>{2}), ElementsAre("a"));
}

TEST(Vocabulary, EncodesTheKeptSentencesOfAText) {
  const SentenceList sentences = Vocabulary::most_frequent(some_text(), 3).encode(some_text());
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_THAT(sentences[0], ElementsAre(2, 0, 0));  // "often", then two unknown words
  EXPECT_THAT(sentences[1], ElementsAre(4));
}

TEST(Vocabulary, IsSavedAndLoaded) {
  const TemporaryFolder folder;
  const Vocabulary vocabulary("v", {"été", "'", "0000", "漢字"});
  for (const Bytes& bytes :
       {bytes_of(vocabulary.file_text()), gzipped(bytes_of(vocabulary.file_text()))}) {
    folder.write("v", bytes);
    const Vocabulary loaded = Vocabulary::open(folder.path() / "v");
    EXPECT_EQ(loaded, vocabulary);
    EXPECT_EQ(loaded.id("漢字"), 5);
    EXPECT_EQ(loaded.fingerprint(), vocabulary.fingerprint());
  }
  EXPECT_EQ(Vocabulary::parse("v", "<UNK>\r\n<EOS>\r\na\r\n"), Vocabulary("v", {"a"}));
}

TEST(Vocabulary, TheFingerprintTellsVocabulariesApart) {
  const Vocabulary vocabulary("v", {"a", "b", "c"});
  EXPECT_EQ(vocabulary.fingerprint(), "5 words, crc32 eb9fb667");
  EXPECT_NE(vocabulary.fingerprint(), Vocabulary("v", {"a", "c", "b"}).fingerprint());
  EXPECT_NE(vocabulary.fingerprint(), Vocabulary("v", {"a", "b"}).fingerprint());
  EXPECT_NE(vocabulary.fingerprint(), Vocabulary("v", {"a", "b", "d"}).fingerprint());
}

TEST(Vocabulary, ErrorsNameTheLine) {
  const auto error_of = [](std::string_view text) {
    return data_error_of([&] { Vocabulary::parse("v", text); });
  };
  const std::string marks = "<UNK>\n<EOS>\n";
  EXPECT_EQ(error_of(""),
            "[v] line 1, got the end of the file, expected \"<UNK>\", as in every vocabulary");
  EXPECT_EQ(error_of("<UNK>\n"),
            "[v] line 2, got the end of the file, expected \"<EOS>\", as in every vocabulary");
  EXPECT_EQ(error_of("the\nof\n"),
            "[v] line 1, got \"the\", expected \"<UNK>\", as in every vocabulary");
  EXPECT_EQ(error_of(marks + "a\nb\na\n"), "[v] line 5: \"a\" is already in line 3");
  EXPECT_EQ(error_of(marks + "a\n\nb\n"), "[v] line 4: no word");
  EXPECT_EQ(error_of(marks + "a\nb c\n"), "[v] line 4: white space in \"b c\"");
  EXPECT_EQ(error_of(marks + "b\u00a0c\n"), "[v] line 3: white space in \"b\u00a0c\"");
  EXPECT_EQ(error_of(marks + "<EOS>\n"), "[v] line 3: the mark <EOS> among the words");
  EXPECT_EQ(error_of(marks + "a\n\xe9t\xe9\n"), "[v] line 4: byte 1: 0xe9 is not UTF-8");
}

}  // namespace
}  // namespace skyline
