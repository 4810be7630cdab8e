#include "data/text/pair_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/data/data_error_of.h"
#include "tests/data/text/random_sentences.h"
#include "tests/data/text/unpacked.h"

namespace skyline {
namespace {

using testing::ElementsAre;

TEST(PackedWords, LieTimeMajorLongestFirst) {
  const Sentences sentences = {{10, 11}, {20, 21, 22}, {30}};
  const PackedWords packed = pack(sentences);
  EXPECT_THAT(packed.order, ElementsAre(1, 0, 2));
  EXPECT_THAT(packed.batch_sizes, ElementsAre(3, 2, 1));
  EXPECT_THAT(packed.words, ElementsAre(20, 10, 30, 21, 11, 22));
}

TEST(PackedWords, SentencesOfOneLengthKeepTheirOrder) {
  const Sentences sentences = {{1}, {2}, {3, 4}, {5}, {6, 7}};
  const PackedWords packed = pack(sentences);
  EXPECT_THAT(packed.order, ElementsAre(2, 4, 0, 1, 3));
  EXPECT_THAT(packed.batch_sizes, ElementsAre(5, 2));
  EXPECT_THAT(packed.words, ElementsAre(3, 6, 1, 2, 5, 4, 7));
}

TEST(PackedWords, OneSentenceIsItself) {
  const Sentences sentences = {{5, 4, 3}};
  const PackedWords packed = pack(sentences);
  EXPECT_EQ(packed.words, sentences[0]);
  EXPECT_THAT(packed.batch_sizes, ElementsAre(1, 1, 1));
  EXPECT_THAT(packed.order, ElementsAre(0));
}

TEST(PackedWords, RandomBatchesUnpackToThemselves) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Sentences sentences = random_sentences(seed, 1 + seed % 70, 50);
    const PackedWords packed = pack(sentences);
    ASSERT_EQ(unpacked(packed, packed.words), sentences) << "seed " << seed;
    EXPECT_TRUE(std::ranges::is_sorted(packed.batch_sizes, std::greater<>()));
    EXPECT_EQ(packed.batch_sizes.front(), static_cast<std::int32_t>(sentences.size()));
    EXPECT_GT(packed.batch_sizes.back(), 0);
    EXPECT_EQ(static_cast<std::size_t>(
                  std::accumulate(packed.batch_sizes.begin(), packed.batch_sizes.end(), 0)),
              packed.words.size());
  }
}

TEST(PackedWords, StatesGoFromOneOrderToTheOther) {
  const std::vector<std::int32_t> from = {2, 0, 3, 1}, to = {1, 2, 3, 0};
  // 100 + s represents sentence s.
  std::vector<std::int32_t> moved;
  for (const std::int32_t row : rows_between(from, to)) {
    moved.push_back(100 + from[static_cast<std::size_t>(row)]);
  }
  EXPECT_THAT(moved, ElementsAre(101, 102, 103, 100));
  EXPECT_THAT(rows_between(from, from), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(rows_between({}, {}).empty());
}

TEST(PackedWords, RefuseWhatCannotBePacked) {
  EXPECT_EQ(data_error_of([] { pack({}); }), "[batch] no sentence to pack");
  const Sentences sentences = {{1}, {2, 3}, {}, {4}};
  EXPECT_EQ(data_error_of([&] { pack(sentences); }),
            "[batch] words of sentence 2, got 0, expected at least 1");
  const Sentences good = {{1}, {2, 3}};
  EXPECT_EQ(data_error_of([&] { rows_between(good[0], good[1]); }),
            "[batch] sentences of the other order, got 2, expected 1");
}

}  // namespace
}  // namespace skyline
