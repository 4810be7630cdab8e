// Counts on real text: SKYLINE_TEXTS names the folder of the WMT development sets (news-test2008.en
// to newstest2013.fr). Without it, these tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "data/text/parallel_text.h"
#include "data/text/vocabulary.h"

namespace skyline {
namespace {

class RealTexts : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SKYLINE_TEXTS");
    if (folder == nullptr) GTEST_SKIP() << "SKYLINE_TEXTS names no folder of texts";
    folder_ = folder;
  }

  TextFiles files_of(const std::string& name) const {
    return {folder_ / (name + ".en"), folder_ / (name + ".fr")};
  }

  ParallelText read(const std::string& name, std::size_t most_words) const {
    const TextFiles files = files_of(name);
    return read_text_files({&files, 1}, {.most_words = most_words});
  }

  std::filesystem::path folder_;
};

std::uint64_t words_of(const TokenizedText& text) {
  return std::accumulate(text.counts.begin(), text.counts.end(), std::uint64_t{0});
}

// Words are cut as in Chainer's example, see data/text/tokenizer.h.
TEST_F(RealTexts, OfWmtHaveTheKnownCounts) {
  std::vector<TextFiles> files;
  for (const char* name : {"news-test2008", "newssyscomb2009", "newstest2009", "newstest2010",
                           "newstest2011", "newstest2012"}) {
    files.push_back(files_of(name));
  }
  const ParallelText text = read_text_files(files);
  EXPECT_EQ(text.summary.lines, 13'573u);
  EXPECT_EQ(text.summary.kept, 12'165u);
  EXPECT_EQ(text.summary.outside, 13'573u - 12'165u);
  EXPECT_EQ(words_of(text.source), 340'733u);
  EXPECT_EQ(words_of(text.target), 396'560u);
  EXPECT_EQ(text.source.words.size(), 25'669u);
  EXPECT_EQ(text.target.words.size(), 29'730u);
}

TEST_F(RealTexts, ForValidationAreNotCut) {
  const ParallelText text = read("newstest2013", ParallelTextOptions::kUnlimited);
  EXPECT_EQ(text.size(), 3'000u);
  EXPECT_EQ(words_of(text.source), 65'568u);
  EXPECT_EQ(words_of(text.target), 77'727u);
}

TEST_F(RealTexts, GiveVocabulariesThatKnowTheirWords) {
  const ParallelText text = read("newstest2009", 50);
  for (const TokenizedText* side : {&text.source, &text.target}) {
    const Vocabulary all = Vocabulary::most_frequent(*side, side->words.size());
    EXPECT_EQ(all.size(), side->words.size() + 2);
    EXPECT_EQ(Vocabulary::parse("v", all.file_text()), all);
    const SentenceList encoded = all.encode(*side);
    const auto ids = encoded.buffer();
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kUnknownWord), 0);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kEndOfSentence), 0);
  }
}

}  // namespace
}  // namespace skyline
