// Counts on real text: SKYLINE_TEXTS names the folder of the WMT development sets (news-test2008.en
// to newstest2013.fr). Without it the tests are skipped by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "data/parallel_text.h"
#include "data/vocabulary.h"

namespace skyline {
namespace {

class RealTexts : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SKYLINE_TEXTS");
    if (folder == nullptr) GTEST_SKIP() << "SKYLINE_TEXTS names no folder of texts";
    folder_ = folder;
  }

  ParallelText read(const std::string& name, std::size_t most_words) const {
    return read_parallel_text(folder_ / (name + ".en"), folder_ / (name + ".fr"),
                              {.most_words = most_words});
  }

  std::filesystem::path folder_;
};

std::uint64_t words_of(const TokenizedText& text) {
  return std::accumulate(text.counts.begin(), text.counts.end(), std::uint64_t{0});
}

// NETWORKS.md, section 8.
TEST_F(RealTexts, OfWmtHaveTheKnownCounts) {
  std::uint64_t lines = 0, kept = 0, english = 0, french = 0;
  std::set<std::string> english_types, french_types;
  for (const char* name : {"news-test2008", "newssyscomb2009", "newstest2009", "newstest2010",
                           "newstest2011", "newstest2012"}) {
    const ParallelText text = read(name, 50);
    lines += text.summary.lines;
    kept += text.summary.kept;
    english += words_of(text.source);
    french += words_of(text.target);
    english_types.insert(text.source.words.begin(), text.source.words.end());
    french_types.insert(text.target.words.begin(), text.target.words.end());
  }
  EXPECT_EQ(lines, 13'573u);
  EXPECT_EQ(kept, 12'165u);
  EXPECT_EQ(english, 340'733u);
  EXPECT_EQ(french, 396'560u);
  EXPECT_EQ(english_types.size(), 25'669u);
  EXPECT_EQ(french_types.size(), 29'730u);
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
    const auto ids = encoded.words();
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kUnknownWord), 0);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kEndOfSentence), 0);
  }
}

}  // namespace
}  // namespace skyline
