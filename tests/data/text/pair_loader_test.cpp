#include "data/text/pair_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/text/vocabulary.h"
#include "tests/data/data_error_of.h"
#include "tests/data/text/random_sentences.h"
#include "tests/data/text/unpacked.h"

namespace skyline {
namespace {

using testing::ElementsAre;

SentencePairs random_pairs(std::size_t size, std::uint64_t seed = 1) {
  SentencePairs pairs{.name = "pairs"};
  for (const auto& sentence : random_sentences(seed, size, 20)) pairs.source.push_back(sentence);
  for (const auto& sentence : random_sentences(seed + 1, size, 15)) {
    pairs.target.push_back(sentence);
  }
  return pairs;
}

std::vector<PairBatch> batches_of(PairLoader& loader, std::size_t count) {
  std::vector<PairBatch> batches;
  while (batches.size() < count) batches.push_back(loader.next());
  return batches;
}

void expect_equal(const PairBatch& batch, const PairBatch& expected) {
  EXPECT_EQ(batch.pairs, expected.pairs);
  EXPECT_EQ(batch.source, expected.source);
  EXPECT_EQ(batch.target, expected.target);
  EXPECT_EQ(batch.target_out, expected.target_out);
  EXPECT_EQ(batch.source_to_target, expected.source_to_target);
  EXPECT_EQ(batch.position, expected.position);
}

std::vector<std::int32_t> copied(std::span<const std::int32_t> sentence) {
  return {sentence.begin(), sentence.end()};
}

TEST(PairBatch, IsPackedWithEndsOfSentence) {
  SentencePairs data{.name = "pairs"};
  data.source.push_back(std::vector<std::int32_t>{10, 11});
  data.source.push_back(std::vector<std::int32_t>{20, 21, 22});
  data.target.push_back(std::vector<std::int32_t>{30, 31});
  data.target.push_back(std::vector<std::int32_t>{40});
  const PairBatch batch = make_pair_batch(data, std::vector<std::size_t>{0, 1});
  EXPECT_THAT(batch.source.words, ElementsAre(22, 11, 21, 10, 20));
  EXPECT_THAT(batch.source.order, ElementsAre(1, 0));
  EXPECT_THAT(batch.target.words, ElementsAre(1, 1, 30, 40, 31));
  EXPECT_THAT(batch.target_out, ElementsAre(30, 40, 31, 1, 1));
  EXPECT_THAT(batch.target.batch_sizes, ElementsAre(2, 2, 1));
  EXPECT_THAT(batch.target.order, ElementsAre(0, 1));
  EXPECT_THAT(batch.source_to_target, ElementsAre(1, 0));
  EXPECT_THAT(batch.pairs, ElementsAre(0, 1));
  EXPECT_EQ(batch.size(), 2u);
  EXPECT_THAT(make_pair_batch(data, std::vector<std::size_t>{1}, false).source.words,
              ElementsAre(20, 21, 22));
}

TEST(PairBatch, HoldsThePairsThatItNames) {
  const SentencePairs data = random_pairs(100);
  PairLoader loader(data, {.batch_size = 16}, test_random(1));
  for (const PairBatch& batch : batches_of(loader, 20)) {
    const auto sources = unpacked(batch.source, batch.source.words);
    const auto inputs = unpacked(batch.target, batch.target.words);
    const auto outputs = unpacked(batch.target, batch.target_out);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto source = copied(data.source[batch.pairs[i]]);
      std::ranges::reverse(source);
      ASSERT_EQ(sources[i], source);
      auto target = copied(data.target[batch.pairs[i]]);
      target.push_back(kEndOfSentence);
      ASSERT_EQ(outputs[i], target);
      std::ranges::rotate(target, target.end() - 1);
      ASSERT_EQ(inputs[i], target);
      const auto row = static_cast<std::size_t>(batch.source_to_target[i]);
      ASSERT_EQ(batch.target.order[i], batch.source.order[row]);
    }
  }
}

TEST(PairBatch, SourcesWithoutTargetsArePackedAlike) {
  const SentencePairs data = random_pairs(10);
  std::vector<std::size_t> all(10);
  Sentences sources;
  for (std::size_t i = 0; i < 10; ++i) {
    all[i] = i;
    sources.push_back(copied(data.source[i]));
  }
  EXPECT_EQ(pack_source(sources), make_pair_batch(data, all).source);
  EXPECT_EQ(pack_source(sources, false), pack(sources));
}

TEST(PairBatch, AnEmptySentenceIsNamed) {
  SentencePairs data{.name = "pairs"};
  data.source.push_back(std::vector<std::int32_t>{2});
  data.target.push_back({});
  EXPECT_EQ(data_error_of([&] { make_pair_batch(data, std::vector<std::size_t>{0}); }),
            "[pairs] words of target sentence 0, got 0, expected at least 1");
}

// Covers orders, incomplete last batches and buckets.
class PairLoaders : public testing::TestWithParam<PairLoaderOptions> {};

TEST_P(PairLoaders, GiveEveryPairOncePerEpoch) {
  const SentencePairs data = random_pairs(103);
  PairLoader loader(data, GetParam(), test_random(2));
  const bool drop = GetParam().drop_last;
  ASSERT_EQ(loader.batches_per_epoch(), drop ? 12u : 13u);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::size_t> seen;
    std::multiset<std::size_t> sizes;
    for (std::uint64_t index = 0; index < loader.batches_per_epoch(); ++index) {
      const PairBatch batch = loader.next();
      EXPECT_EQ(batch.position, (BatchPosition{epoch, index}));
      sizes.insert(batch.size());
      seen.insert(batch.pairs.begin(), batch.pairs.end());
    }
    EXPECT_EQ(seen.size(), drop ? 96u : 103u);
    EXPECT_EQ(sizes.count(8), 12u);
    EXPECT_EQ(sizes.count(7), drop ? 0u : 1u);
  }
}

TEST_P(PairLoaders, StartWhereARunWasStopped) {
  const SentencePairs data = random_pairs(103);
  PairLoader whole(data, GetParam(), test_random(3));
  const std::size_t epoch = whole.batches_per_epoch();
  const auto expected = batches_of(whole, 3 * epoch);
  for (std::size_t done = 0; done <= 2 * epoch; ++done) {
    PairLoaderOptions later = GetParam();
    later.start = {done / epoch, done % epoch};
    PairLoader loader(data, later, test_random(3));
    expect_equal(loader.next(), expected[done]);
    expect_equal(loader.next(), expected[done + 1]);
  }
  PairLoaderOptions end = GetParam();  // the end of an epoch is the beginning of the next
  end.start = {0, epoch};
  PairLoader loader(data, end, test_random(3));
  expect_equal(loader.next(), expected[epoch]);
}

TEST_P(PairLoaders, ShuffleByEpochAndSeedAlone) {
  const SentencePairs data = random_pairs(103);
  const auto orders = [&](std::uint64_t seed) {
    PairLoader loader(data, GetParam(), test_random(seed));
    std::vector<std::vector<std::size_t>> epochs(2);
    for (auto& order : epochs) {
      for (const PairBatch& batch : batches_of(loader, loader.batches_per_epoch())) {
        order.insert(order.end(), batch.pairs.begin(), batch.pairs.end());
      }
    }
    return epochs;
  };
  const auto first = orders(1);
  EXPECT_EQ(first, orders(1));
  EXPECT_EQ(first[0] != first[1], GetParam().shuffle);
  EXPECT_EQ(first != orders(2), GetParam().shuffle);
}

INSTANTIATE_TEST_SUITE_P(
    Options, PairLoaders,
    testing::Values(PairLoaderOptions{.batch_size = 8},
                    PairLoaderOptions{.batch_size = 8, .drop_last = true},
                    PairLoaderOptions{.batch_size = 8, .shuffle = false},
                    PairLoaderOptions{.batch_size = 8, .bucket = true},
                    PairLoaderOptions{.batch_size = 8, .bucket = true, .bucket_batches = 3},
                    PairLoaderOptions{.batch_size = 8, .bucket = true, .drop_last = true},
                    PairLoaderOptions{.batch_size = 8, .shuffle = false, .bucket = true}));

TEST(PairLoader, KeepsTheOrderOfTheDataWithoutShuffling) {
  const SentencePairs data = random_pairs(5);
  PairLoader loader(data, {.batch_size = 3, .shuffle = false}, test_random(1));
  EXPECT_THAT(loader.next().pairs, ElementsAre(0, 1, 2));
  EXPECT_THAT(loader.next().pairs, ElementsAre(3, 4));
}

// They must not be the longest pairs, which come last in a sorted window.
TEST(PairLoader, BucketsLeaveOutTheLastPairsOfTheOrder) {
  const SentencePairs data = random_pairs(10);
  PairLoader loader(data, {.batch_size = 4, .shuffle = false, .bucket = true, .drop_last = true},
                    test_random(1));
  std::vector<std::size_t> seen;
  for (const PairBatch& batch : batches_of(loader, loader.batches_per_epoch())) {
    seen.insert(seen.end(), batch.pairs.begin(), batch.pairs.end());
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// The share of padding that the batches would need: Σ (B T − R) / Σ R.
double wasted(const SentencePairs& data, const PairLoaderOptions& options) {
  PairLoader loader(data, options, test_random(4));
  std::size_t words = 0, waste = 0;
  for (const PairBatch& batch : batches_of(loader, loader.batches_per_epoch())) {
    words += batch.target.words.size();
    waste += batch.size() * batch.target.batch_sizes.size() - batch.target.words.size();
  }
  return static_cast<double>(waste) / static_cast<double>(words);
}

TEST(PairLoader, BucketsHoldSentencesOfAboutOneLength) {
  const SentencePairs data = random_pairs(2000);
  const double plain = wasted(data, {.batch_size = 16});
  const double bucketed = wasted(data, {.batch_size = 16, .bucket = true});
  EXPECT_GT(plain, 0.5);
  EXPECT_LT(bucketed, 0.05);
}

TEST(PairLoader, BucketedBatchesComeInShuffledOrder) {
  const SentencePairs data = random_pairs(2000);
  PairLoader loader(data, {.batch_size = 16, .bucket = true}, test_random(5));
  std::vector<std::size_t> steps;
  for (const PairBatch& batch : batches_of(loader, loader.batches_per_epoch())) {
    steps.push_back(batch.target.batch_sizes.size());
  }
  int falls = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) falls += steps[i] < steps[i - 1];
  EXPECT_GT(falls, 30);  // of 124; sorted windows without shuffling would give one or two
}

// The pairs are left out before they are sorted, so they are not the longest.
TEST(PairLoader, LeavesOutBatchesThatFillNoStep) {
  const SentencePairs data = random_pairs(103);
  PairLoader unsorted(data, {.batch_size = 8}, test_random(2));
  std::set<std::size_t> expected, got;
  for (const PairBatch& batch : batches_of(unsorted, 10)) {
    expected.insert(batch.pairs.begin(), batch.pairs.end());
  }
  PairLoader loader(data, {.batch_size = 8, .bucket = true, .step_batches = 5}, test_random(2));
  EXPECT_EQ(loader.batches_per_epoch(), 10u) << "of 13";
  for (const PairBatch& batch : batches_of(loader, 10)) {
    got.insert(batch.pairs.begin(), batch.pairs.end());
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(loader.next().position, (BatchPosition{1, 0}));
}

TEST(PairLoader, RefusesBatchesThatCannotBeMade) {
  SentencePairs data = random_pairs(10);
  const auto error_of = [&data](const PairLoaderOptions& options) {
    return data_error_of([&] { PairLoader(data, options, test_random(1)); });
  };
  EXPECT_EQ(error_of({.batch_size = 0}),
            "[pairs] batch size, got 0, expected 1 to 10, the number of pairs");
  EXPECT_EQ(error_of({.batch_size = 11}),
            "[pairs] batch size, got 11, expected 1 to 10, the number of pairs");
  EXPECT_EQ(error_of({.batch_size = 4, .drop_last = true, .start = {0, 3}}),
            "[pairs] first batch, got 3, expected at most 2, the batches of an epoch");
  EXPECT_EQ(error_of({.batch_size = 4, .step_batches = 4}),
            "[pairs] batches of a step, got 4, expected 1 to 3, the batches of 10 pairs");
  EXPECT_EQ(error_of({.batch_size = 4, .bucket = true, .bucket_batches = 0}),
            "[pairs] batches of a bucket window, got 0, expected at least 1");
  data.target.push_back(std::vector<std::int32_t>{2});
  EXPECT_EQ(error_of({.batch_size = 4}),
            "[pairs] target sentences, got 11, expected 10, one for each source sentence");
}

}  // namespace
}  // namespace skyline
