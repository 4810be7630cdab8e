#include "data/text/parallel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "data/text/characters.h"
#include "tests/data/data_error_of.h"
#include "tests/data/text/text_files.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string sentence(const TokenizedText& text, std::size_t index) {
  std::string joined;
  for (const std::string& word : text.sentence(index)) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::vector<std::string> sentences(const TokenizedText& text) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < text.sentences.size(); ++i) all.push_back(sentence(text, i));
  return all;
}

class ParallelTextFiles : public testing::Test {
 protected:
  ParallelText read(std::string_view source, std::string_view target,
                    const ParallelTextOptions& options = {}) {
    return read_pair(write_text(folder_, "s", source), write_text(folder_, "t", target), options);
  }
  static ParallelText read_pair(const std::filesystem::path& source,
                                const std::filesystem::path& target,
                                const ParallelTextOptions& options = {}) {
    const TextFiles files{source, target};
    return read_text_files({&files, 1}, options);
  }
  ParallelText read_tabs(std::string_view text, const ParallelTextOptions& options = {}) {
    return read_pair(write_text(folder_, "tabs", text), {}, options);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(ParallelTextFiles, ArePairedLineByLine) {
  const ParallelText text = read("Go.\nI am here, I am.\n", "Va !\nJe suis là.\n");
  EXPECT_THAT(sentences(text.source), ElementsAre("Go .", "I am here , I am ."));
  EXPECT_THAT(sentences(text.target), ElementsAre("Va !", "Je suis là ."));
  EXPECT_EQ(text.size(), 2u);
  EXPECT_THAT(text.source.words, ElementsAre("Go", ".", "I", "am", "here", ","));
  EXPECT_THAT(text.source.counts, ElementsAre(1, 2, 2, 2, 1, 1));
  EXPECT_EQ(text.summary.text(), "2 pairs: 2 kept");
}

TEST_F(ParallelTextFiles, TakeEveryLineEnd) {
  for (const auto* source : {"a\nb\n", "a\nb", "a\r\nb\r\n", "a\r\nb",
                             "\xef\xbb\xbf"
                             "a\nb\n"}) {
    EXPECT_THAT(sentences(read(source, "c\nd").source), ElementsAre("a", "b")) << source;
  }
}

TEST_F(ParallelTextFiles, MayBeCompressedWhateverTheirNames) {
  folder_.write("s", gzipped(bytes_of("a\nb\n")));
  const auto target = write_text(folder_, "t.gz", "c\nd\n");
  const ParallelText text = read_pair(folder_.path() / "s", target);
  EXPECT_THAT(sentences(text.source), ElementsAre("a", "b"));
  EXPECT_THAT(sentences(text.target), ElementsAre("c", "d"));
}

TEST_F(ParallelTextFiles, MayBeOneFileWithTabs) {
  const ParallelText text = read_tabs("Go.\tVa !\tCC-BY \xff\n\nRun\tCours\nno tab\n");
  EXPECT_THAT(sentences(text.source), ElementsAre("Go .", "Run"));
  EXPECT_THAT(sentences(text.target), ElementsAre("Va !", "Cours"));
  EXPECT_EQ(text.summary.text(), "4 pairs: 2 kept; skipped 2 without a tab");
  EXPECT_THAT(
      text.summary.faults,
      ElementsAre("[" + path("tabs") +
                  "] line 2, no tab between source and target; the pair was skipped, as was "
                  "1 more such pair"));
}

TEST_F(ParallelTextFiles, SentencesOutsideOfTheLimitsAreCountedAndLeftOut) {
  const std::string_view source = "a\na b\na b c\na b c d\n", target = "a b c d e\nx\ny\nz\n";
  const ParallelText text = read(source, target, {.least_words = 1, .most_words = 3});
  EXPECT_THAT(sentences(text.source), ElementsAre("a b", "a b c"));
  EXPECT_EQ(text.summary.text(), "4 pairs: 2 kept; skipped 2 not of 1 to 3 words");
  EXPECT_THAT(text.summary.faults,
              ElementsAre("[" + path("t") +
                          "] line 1, 5 words; the pair was skipped, as was 1 more such pair"));
  EXPECT_THAT(text.source.counts, ElementsAre(4, 3, 2, 1)) << "vocabularies count all pairs";

  const ParallelTextOptions uncut{.most_words = ParallelTextOptions::kUnlimited};
  EXPECT_EQ(read(source, target, uncut).summary.text(), "4 pairs: 4 kept");
  const ParallelTextOptions longer{.least_words = 2, .most_words = ParallelTextOptions::kUnlimited};
  EXPECT_EQ(
      data_error_of([&] { read(source, target, longer); }),
      "[" + path("s") + ", " + path("t") +
          "] no pair of sentences is left of 4 pairs: 0 kept; skipped 4 of fewer than 2 words; [" +
          path("s") + "] line 1, 1 word; the pair was skipped, as were 3 more such pairs");
}

TEST_F(ParallelTextFiles, MayBeCountedWithoutKeepingSentences) {
  const ParallelText text = read("a b\n\nc\n", "d\ne\nd\n", {.keep_sentences = false});
  EXPECT_EQ(text.summary.kept, 2u);
  EXPECT_EQ(text.summary.empty, 1u);
  EXPECT_EQ(text.source.words.size(), 3u);
  EXPECT_EQ(text.target.counts, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(text.size(), 0u);
}

TEST_F(ParallelTextFiles, FiftyWordsPassAndFiftyOneDoNot) {
  std::string fifty, fifty_one = "w";
  for (int i = 0; i < 50; ++i) {
    fifty += "w ";
    fifty_one += " w";
  }
  const ParallelText text =
      read(fifty + "\n" + fifty_one + "\n" + fifty, fifty + "\nw\n" + fifty_one);
  EXPECT_EQ(text.summary.text(), "3 pairs: 1 kept; skipped 2 not of 1 to 50 words");
}

TEST_F(ParallelTextFiles, EmptyLinesAreCountedAndLeftOut) {
  const ParallelText text = read("a\n\n  \nd\n", "\nb\nc\ne\n");
  EXPECT_THAT(sentences(text.source), ElementsAre("d"));
  EXPECT_THAT(sentences(text.target), ElementsAre("e"));
  EXPECT_EQ(text.summary.text(), "4 pairs: 1 kept; skipped 3 empty");
  EXPECT_THAT(text.summary.faults,
              ElementsAre("[" + path("t") +
                          "] line 1, no word; the pair was skipped, as were 2 more such pairs"));
  EXPECT_THAT(text.target.words, ElementsAre("e")) << "words without a partner are not counted";
}

const std::string kConvert =
    "; a text in another encoding must be converted: iconv -f LATIN1 -t UTF-8";

TEST_F(ParallelTextFiles, WhatIsNotUtf8IsNamedAndLeftOut) {
  const ParallelText text = read("a\nb\xff\nc\nd\n", "e\nf\ncaf\xe9!\ng\n");
  EXPECT_THAT(sentences(text.source), ElementsAre("a", "d"));
  EXPECT_EQ(text.summary.text(), "4 pairs: 2 kept; skipped 2 not UTF-8");
  EXPECT_THAT(text.summary.faults, ElementsAre("[" + path("s") +
                                               "] line 2, byte 2: 0xff is not UTF-8; the pair was "
                                               "skipped, as was 1 more such pair" +
                                               kConvert));
  EXPECT_THAT(read("a\nc", "e\ncaf\xe9!").summary.faults,
              ElementsAre("[" + path("t") +
                          "] line 2, byte 4: 0xe9 is not UTF-8; the pair was skipped" + kConvert));
  EXPECT_THAT(read_tabs("ab\tc\xff\na\tb").summary.faults,
              ElementsAre("[" + path("tabs") +
                          "] line 1, byte 5: 0xff is not UTF-8; the pair was skipped" + kConvert));
}

// UTF-16 of either byte order, with a mark and without.
TEST_F(ParallelTextFiles, InUtf16AreRefusedByName) {
  const std::string text = "Go.\nJe suis l\xe0.\n";
  for (const bool little : {true, false}) {
    for (const bool mark : {true, false}) {
      std::string wide = !mark ? "" : little ? "\xff\xfe" : "\xfe\xff";
      for (const char c : text) wide += little ? std::string{c, '\0'} : std::string{'\0', c};
      const std::string name = little ? "UTF-16LE" : "UTF-16BE";
      const std::string why =
          " is " + name + "; convert it to UTF-8: iconv -f " + name + " -t UTF-8";
      EXPECT_EQ(data_error_of([&] { read(wide, "a\nb\n"); }), "[" + path("s") + "]" + why);
      EXPECT_EQ(data_error_of([&] { read("a\nb\n", wide); }), "[" + path("t") + "]" + why);
      EXPECT_EQ(data_error_of([&] { read_tabs(wide); }), "[" + path("tabs") + "]" + why);
    }
  }
  const std::string chinese("\x60\x4f\x7d\x59\n\0\x60\x4f\n\0", 10);
  EXPECT_NE(data_error_of([&] { read(chinese, "a\nb\n"); }).find("UTF-16LE"), std::string::npos);
  EXPECT_EQ(wide_encoding(std::string_view("\xff\xfe\0\0a\0\0\0", 8)), "UTF-32LE");
  EXPECT_EQ(wide_encoding(std::string_view("a\0\0\0b\0\0\0\n\0\0\0", 12)), "UTF-32LE");
  EXPECT_EQ(wide_encoding(std::string_view("\0\0\0a\0\0\0b\0\0\0\n", 12)), "UTF-32BE");
  EXPECT_EQ(wide_encoding(""), "");
  EXPECT_EQ(wide_encoding(std::string_view("a\0b\nc\nd\n", 8)), "") << "one stray zero byte";
}

TEST_F(ParallelTextFiles, WithLinesThatEndInCrAloneAreNamed) {
  const ParallelText one = read("a\rb\rc\r", "d\re\rf");
  EXPECT_EQ(one.summary.text(), "1 pairs: 1 kept");
  const std::string why =
      "] lines end in CR alone, so that it was read as one line; convert it: tr '\\r' '\\n'";
  EXPECT_THAT(one.summary.faults, ElementsAre("[" + path("s") + why, "[" + path("t") + why));
  EXPECT_EQ(data_error_of([&] { read("a\rb\rc\r", "d\ne\nf\n"); }),
            "[" + path("t") + "] lines, got 3, expected 1, as many as in " + path("s") +
                ", whose lines end in CR alone");
  EXPECT_THAT(
      read("a\nb\rc\n", "d\ne\n").summary.faults,
      ElementsAre("[" + path("s") + "] line 2 holds a CR alone, which is read as white space"));
  EXPECT_THAT(read_tabs("a\tb\r\nc\td\r\n").summary.faults, IsEmpty()) << "CRLF";
}

TEST_F(ParallelTextFiles, KeepTheirLinesIfAsked) {
  const ParallelText text = read("a 12\n\nb  c\r\n", "d 3\ne\n f\u2019 \n", {.keep_lines = true});
  ASSERT_EQ(text.source_lines.size(), 2u);
  EXPECT_EQ(text.source_lines[0], "a 12");
  EXPECT_EQ(text.source_lines[1], "b  c");
  EXPECT_EQ(text.target_lines[1], " f\u2019 ");
  EXPECT_EQ(read("a", "b").source_lines.size(), 0u);
}

TEST_F(ParallelTextFiles, StrictReadingThrowsTheFirstFault) {
  const ParallelTextOptions strict{.strict = true};
  EXPECT_EQ(data_error_of([&] { read("a\nb\n", "e\nf\xff\n", strict); }),
            "[" + path("t") + "] line 2, byte 2: 0xff is not UTF-8");
  EXPECT_EQ(data_error_of([&] { read_tabs("a\tb\nc\n", strict); }),
            "[" + path("tabs") + "] line 2, no tab between source and target");
  EXPECT_EQ(read("a\n\n", "b\nc\n", strict).size(), 1u)
      << "an empty line is not a fault of the file";
}

TEST_F(ParallelTextFiles, SeveralFollowEachOther) {
  const std::vector<TextFiles> files = {
      {write_text(folder_, "a", "a\n\nb\n"), write_text(folder_, "b", "c\nd\ne\n")},
      {write_text(folder_, "c", "f\ta\n\tb"), {}}};
  const ParallelText text = read_text_files(files);
  EXPECT_THAT(sentences(text.source), ElementsAre("a", "b", "f"));
  EXPECT_THAT(sentences(text.target), ElementsAre("c", "e", "a"));
  EXPECT_EQ(text.summary.text(), "5 pairs: 3 kept; skipped 2 empty");
  EXPECT_EQ(text.summary.faults.size(), 1u);
  EXPECT_EQ(data_error_of([&] { read_text_files({}); }),
            "[text] no pair of sentences is left of 0 pairs: 0 kept");
  EXPECT_THROW(text.source.sentence(3), std::out_of_range);
}

TEST_F(ParallelTextFiles, OfDifferentLengthAreRefusedWithBothNumbers) {
  EXPECT_EQ(data_error_of([&] { read("a\nb\nc\nd\n", "e\nf\n"); }),
            "[" + path("s") + "] lines, got 4, expected 2, as many as in " + path("t"));
  EXPECT_EQ(data_error_of([&] { read("a\n", "e\nf\ng"); }),
            "[" + path("t") + "] lines, got 3, expected 1, as many as in " + path("s"));
  EXPECT_EQ(data_error_of([&] { read("", "e\n"); }),
            "[" + path("t") + "] lines, got 1, expected 0, as many as in " + path("s"));
}

TEST_F(ParallelTextFiles, WithNothingToLearnFromAreRefused) {
  const std::string both =
      "[" + path("s") + ", " + path("t") + "] no pair of sentences is left of ";
  EXPECT_EQ(data_error_of([&] { read("", ""); }), both + "0 pairs: 0 kept");
  EXPECT_EQ(data_error_of([&] { read("\n\xff\n", "a\nb\n"); }),
            both + "2 pairs: 0 kept; skipped 1 empty, 1 not UTF-8; [" + path("s") +
                "] line 1, no word; the pair was skipped");
}

TEST_F(ParallelTextFiles, LimitsThatLetNothingThroughAreRefused) {
  EXPECT_EQ(data_error_of([&] { read("a", "b", {.least_words = 5, .most_words = 4}); }),
            "[" + path("s") + ", " + path("t") +
                "] words of a sentence, got at least 5, expected no more than the most, 4");
}

TEST_F(ParallelTextFiles, ThatAreMissingAreNamed) {
  EXPECT_EQ(data_error_of([&] { read_pair(folder_.path() / "absent", {}); }),
            "[" + path("absent") + "] no such file");
  EXPECT_EQ(data_error_of([&] { read_pair(write_text(folder_, "s", "a"), folder_.path()); }),
            "[" + folder_.path().string() + "] not a file");
}

TEST_F(ParallelTextFiles, LowerCaseWhenAsked) {
  const ParallelText text = read("The the", "Été été", {.tokenizer = {.lower = true}});
  EXPECT_THAT(text.source.words, ElementsAre("the"));
  EXPECT_THAT(text.target.words, ElementsAre("été"));
}

std::vector<std::string> lines_of(const std::string& text) {
  LineReader reader(ByteReader("text", bytes_of(text)));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) {
    lines.emplace_back(*line);
    EXPECT_EQ(reader.line(), lines.size());
  }
  return lines;
}

TEST(LineReader, GivesLines) {
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("\n\na"), ElementsAre("", "", "a"));
  EXPECT_THAT(lines_of("a\r\n\r\nb\rc\r"), ElementsAre("a", "", "b\rc"));
  EXPECT_THAT(lines_of("\xef\xbb\xbf"
                       "a\n\xef\xbb\xbf"
                       "b"),
              ElementsAre("a",
                          "\xef\xbb\xbf"
                          "b"));
}

// Lines of many lengths, up to several times the size of one read.
TEST(LineReader, JoinsWhatIsReadInPieces) {
  std::string text;
  std::vector<std::string> expected;
  for (std::size_t length = 0; length < 300'000; length = length * 2 + 7) {
    expected.emplace_back(length, static_cast<char>('a' + length % 26));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(text), expected);
}

TEST(LineReader, ALineHasALimit) {
  const std::string longest(LineReader::kMostBytes, 'x');
  EXPECT_EQ(lines_of("a\n" + longest + "\r\nb").size(), 3u);
  EXPECT_EQ(lines_of("\xef\xbb\xbf" + longest + "\r").size(), 1u);
  for (const std::string& text : {longest + "x", longest + "x\nb\n", longest + longest + longest}) {
    EXPECT_EQ(data_error_of([&] { lines_of("a\n" + text); }),
              "[text] line 2 is longer than 1048576 bytes");
    EXPECT_EQ(data_error_of([&] { lines_of("\xef\xbb\xbf" + text); }),
              "[text] line 1 is longer than 1048576 bytes");
  }
}

}  // namespace
}  // namespace skyline
