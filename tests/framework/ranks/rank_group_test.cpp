#include "framework/ranks/rank_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/framework/ranks/local_transport.h"

namespace skyline {
namespace {

using testing::ElementsAre;

RankGroup::Options options_of(LocalHub& hub, std::size_t rank) {
  return {.connect = [&hub, rank] { return std::make_unique<LocalTransport>(hub, rank); },
          .on_silence = [](std::size_t) { FAIL() << "a rank is silent"; }};
}

// Runs `program` on so many ranks, each a thread.
void on_ranks(std::size_t ranks, const std::function<void(RankGroup&)>& program) {
  LocalHub hub(ranks);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankGroup group(options_of(hub, rank));
      program(group);
      group.leave();
    });
  }
}

std::vector<float> random_floats(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = std::normal_distribution<float>(0, 1)(random);
  return values;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

// Sizes of the pieces of a value, empty ones and such that shares end within pieces included.
const std::vector<std::vector<std::size_t>> kPieces = {
    {1}, {7}, {0, 3}, {1, 1, 1}, {1000, 1, 0, 4097}, {2048, 5000, 17}};

Pieces pieces_of(std::vector<float>& values, const std::vector<std::size_t>& sizes) {
  Pieces pieces;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    pieces.push_back(std::span(values).subspan(at, size));
    at += size;
  }
  return pieces;
}

std::size_t sum_of(const std::vector<std::size_t>& sizes) {
  std::size_t sum = 0;
  for (const std::size_t size : sizes) sum += size;
  return sum;
}

unsigned seed_of(std::size_t bucket, std::size_t round, std::size_t rank) {
  return static_cast<unsigned>(100 * bucket + 10 * round + rank);
}

TEST(RankSum, CutsSharesThatCoverEachElementOnce) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t ranks = 1; ranks < 9; ++ranks) {
      EXPECT_EQ(share_begin(size, 0, ranks), 0u);
      EXPECT_EQ(share_begin(size, ranks, ranks), size);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(share_begin(size, rank, ranks), share_begin(size, rank + 1, ranks));
      }
    }
  }
}

TEST(RankSum, CutsPiecesAtAnyElement) {
  std::vector<float> values(10);
  const Pieces pieces = pieces_of(values, {3, 0, 5, 2});
  for (std::size_t first = 0; first <= 10; ++first) {
    for (std::size_t last = first; last <= 10; ++last) {
      std::vector<float*> expected, found;
      for (std::size_t i = first; i < last; ++i) expected.push_back(&values[i]);
      for (const std::span<float> piece : cut(pieces, first, last)) {
        for (float& value : piece) found.push_back(&value);
      }
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(RankShare, CoversEachElementOnceAndBeginsAtAMultipleOf64) {
  for (const std::size_t size : {0, 1, 63, 64, 65, 1000, 4097}) {
    for (std::size_t ranks = 1; ranks < 9; ++ranks) {
      std::size_t end = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const RankShare share = share_of_tensor(size, {.rank = rank, .ranks = ranks});
        EXPECT_EQ(share.begin, end);
        EXPECT_TRUE(share.begin % 64 == 0 || share.size() == 0);
        EXPECT_LE(share.size(), largest_share_of_tensor(size, ranks));
        end = share.end;
      }
      EXPECT_EQ(end, size);
    }
  }
}

// The sum of a bucket's values of all ranks, in the order of ranks.
std::vector<float> sum_of_ranks(std::size_t bucket, std::size_t round, std::size_t ranks) {
  const std::size_t size = sum_of(kPieces[bucket]);
  std::vector<float> sum = random_floats(size, seed_of(bucket, round, 0));
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    const auto addend = random_floats(size, seed_of(bucket, round, rank));
    for (std::size_t i = 0; i < size; ++i) sum[i] += addend[i];
  }
  return sum;
}

// What `work` makes of a bucket's values on `place`.
std::vector<float> expected_values(RankWork work, std::size_t bucket, std::size_t round,
                                   const RankOf& place) {
  const std::vector<float> sums = sum_of_ranks(bucket, round, place.ranks);
  if (work == RankWork::kSum) return sums;
  std::vector<float> values = random_floats(sums.size(), seed_of(bucket, round, place.rank));
  std::size_t first = 0;  // element of a tensor
  for (const std::size_t size : kPieces[bucket]) {
    for (std::size_t rank = 0; rank < place.ranks; ++rank) {
      const RankShare share = share_of_tensor(size, {.rank = rank, .ranks = place.ranks});
      const std::vector<float> owner = random_floats(sums.size(), seed_of(bucket, round, rank));
      for (std::size_t i = first + share.begin; i < first + share.end; ++i) {
        if (work == RankWork::kGatherShares) values[i] = owner[i];
        if (work == RankWork::kSumShares && rank == place.rank) values[i] = sums[i];
      }
    }
    first += size;
  }
  return values;
}

// Several buckets at the same time, begun in another sequence on each rank, twice under one number.
void check_work(RankWork work, RankGroup& group) {
  for (const std::size_t round : {0, 1}) {
    std::vector<std::vector<float>> values(kPieces.size()), received(kPieces.size());
    for (std::size_t n = 0; n < kPieces.size(); ++n) {
      const std::size_t bucket = (n + group.rank()) % kPieces.size();
      values[bucket] = random_floats(sum_of(kPieces[bucket]), seed_of(bucket, round, group.rank()));
      received[bucket].resize(RankExchange::received_floats(work, kPieces[bucket], group.ranks()));
      group.begin(static_cast<int>(bucket), {.work = work,
                                             .tensors = pieces_of(values[bucket], kPieces[bucket]),
                                             .received = received[bucket]});
    }
    for (std::size_t bucket = 0; bucket < kPieces.size(); ++bucket) {
      group.wait(static_cast<int>(bucket));
      EXPECT_EQ(bits_of(values[bucket]),
                bits_of(expected_values(work, bucket, round,
                                        {.rank = group.rank(), .ranks = group.ranks()})))
          << "bucket " << bucket << " of rank " << group.rank() << " of " << group.ranks();
    }
  }
}

TEST(RankGroup, SumsInTheOrderOfRanksBitForBit) {
  for (const std::size_t ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [&](RankGroup& group) { check_work(RankWork::kSum, group); });
  }
}

TEST(RankGroup, SumsEachRanksShareAloneAndGathersShares) {
  for (const std::size_t ranks : {1, 2, 3, 5}) {
    on_ranks(ranks, [&](RankGroup& group) {
      check_work(RankWork::kSumShares, group);
      check_work(RankWork::kGatherShares, group);
    });
  }
}

TEST(RankGroup, AddsFastSumsAsTheTransportLikes) {
  on_ranks(3, [](RankGroup& group) {
    std::vector<std::vector<float>> values;
    for (std::size_t bucket = 0; bucket < kPieces.size(); ++bucket) {
      values.push_back(random_floats(sum_of(kPieces[bucket]), seed_of(bucket, 0, group.rank())));
      group.begin(static_cast<int>(bucket), {.work = RankWork::kFastSum,
                                             .tensors = pieces_of(values.back(), kPieces[bucket]),
                                             .received = {}});
    }
    for (std::size_t bucket = 0; bucket < kPieces.size(); ++bucket) {
      group.wait(static_cast<int>(bucket));
      EXPECT_THAT(values[bucket],
                  testing::Pointwise(testing::FloatNear(1e-5f), sum_of_ranks(bucket, 0, 3)));
    }
  });
}

TEST(RankGroup, GathersAndBroadcastsBytesOfAnySize) {
  on_ranks(3, [](RankGroup& group) {
    const auto own = [&](std::size_t rank) { return std::string(rank * 1000, 'a'); };
    EXPECT_THAT(group.gather(own(group.rank())), ElementsAre(own(0), own(1), own(2)));
    EXPECT_EQ(group.broadcast("of " + std::to_string(group.rank())), "of 0");
    EXPECT_THAT(group.gather(""), ElementsAre("", "", ""));
  });
}

TEST(RankGroup, SaysWhyItCannotConnect) {
  EXPECT_THROW(RankGroup({.connect = []() -> std::unique_ptr<RankTransport> {
                            throw std::runtime_error("no network");
                          },
                          .on_silence = {}}),
               std::runtime_error);
}

// A rank that stops without a word.
TEST(RankGroupDeathTest, EndsWhenARankIsSilent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        LocalHub hub(2);
        LocalTransport silent(hub, 1);
        RankGroup::Options options = options_of(hub, 0);
        options.silence_seconds = 0.2;
        options.on_silence = [](std::size_t rank) { fprintf(stderr, "rank %zu is silent", rank); };
        RankGroup group(options);
        group.gather("");
      },
      testing::ExitedWithCode(1), "rank 1 is silent");
}

TEST(RankGroupDeathTest, EndsAllRanksIfOneDoesNotLeave) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        LocalHub hub(1);
        const RankGroup group(options_of(hub, 0));
      },
      testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace skyline
