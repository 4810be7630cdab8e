#include "data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/data/data_error_of.h"
#include "tests/data/test_random.h"

namespace skyline {
namespace {

// Image `i` is two pixels, i and −i, with the label i mod 3.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::size_t size) : size_(size) {}
  const std::string& name() const noexcept override { return name_; }
  std::size_t size() const noexcept override { return size_; }
  ImageShape image_shape() const noexcept override { return {1, 1, 2}; }
  const std::vector<std::string>& class_names() const noexcept override { return class_names_; }
  void read(const Sample& sample, float* image, std::int32_t* label) const override {
    ++reads;
    if (bad_indices.contains(sample.index)) {
      throw std::runtime_error("sample " + std::to_string(sample.index));
    }
    image[0] = static_cast<float>(sample.index);
    image[1] = -static_cast<float>(sample.index);
    *label = static_cast<std::int32_t>(sample.index % 3);
    if (label_is_epoch) *label = static_cast<std::int32_t>(sample.epoch);
  }

  std::set<std::size_t> bad_indices;
  bool label_is_epoch = false;
  mutable std::atomic<std::size_t> reads = 0;

 private:
  std::size_t size_;
  std::string name_ = "numbers";
  std::vector<std::string> class_names_ = {"a", "b", "c"};
};

// Waits without a time limit until the loader has read `count` samples.
void wait_for_reads(const Numbers& data, std::size_t count) {
  while (data.reads < count) std::this_thread::yield();
}

std::vector<std::vector<float>> images_of(Loader& loader, std::size_t batches) {
  std::vector<std::vector<float>> all;
  Batch batch;
  for (std::size_t i = 0; i < batches; ++i) {
    loader.next(batch);
    all.push_back(batch.images);
  }
  return all;
}

TEST(ShuffledOrder, IsAPermutationThatDependsOnSeedAndEpoch) {
  std::set<std::vector<std::size_t>> orders;
  for (const std::uint64_t seed : {1, 2}) {
    for (const std::uint64_t epoch : {0, 1, 2}) {
      auto order = shuffled_order(1000, epoch, test_random(seed));
      EXPECT_EQ(order, shuffled_order(1000, epoch, test_random(seed)));
      orders.insert(order);
      std::sort(order.begin(), order.end());
      for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
    }
  }
  EXPECT_EQ(orders.size(), 6u);
  EXPECT_TRUE(shuffled_order(0, 0, test_random(1)).empty());
  EXPECT_EQ(shuffled_order(1, 0, test_random(1)), std::vector<std::size_t>{0});
}

// The 24 orders of four samples must be about equally frequent. The seeds are fixed; chi² with 23
// degrees of freedom exceeds 50 with a probability below 0.001.
TEST(ShuffledOrder, IsUniform) {
  std::map<std::vector<std::size_t>, int> counts;
  constexpr int kDraws = 24'000;
  for (int epoch = 0; epoch < kDraws; ++epoch) {
    ++counts[shuffled_order(4, static_cast<std::uint64_t>(epoch), test_random(7))];
  }
  ASSERT_EQ(counts.size(), 24u);
  double chi = 0;
  for (const auto& [order, count] : counts) chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi, 50);
}

TEST(Loader, GivesEverySampleOncePerEpoch) {
  const Numbers data(10);
  Loader loader(data, {.batch_size = 4, .drop_last = false}, test_random(1));
  ASSERT_EQ(loader.batches_per_epoch(), 3u);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<float> seen;
    for (std::uint64_t index = 0; index < 3; ++index) {
      const Batch batch = loader.next();
      EXPECT_EQ(batch.position, (BatchPosition{epoch, index}));
      ASSERT_EQ(batch.size, index < 2 ? 4u : 2u);
      ASSERT_EQ(batch.images.size(), 2 * batch.size);
      ASSERT_EQ(batch.labels.size(), batch.size);
      for (std::size_t i = 0; i < batch.size; ++i) {
        EXPECT_EQ(batch.images[2 * i], -batch.images[2 * i + 1]);
        EXPECT_EQ(batch.labels[i], static_cast<int>(batch.images[2 * i]) % 3);
        seen.insert(batch.images[2 * i]);
      }
    }
    EXPECT_EQ(seen, (std::multiset<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST(Loader, DropsTheLastSmallBatchWhenAsked) {
  const Numbers data(10);
  Loader loader(data, {.batch_size = 4}, test_random(1));
  EXPECT_EQ(loader.batches_per_epoch(), 2u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(loader.next().size, 4u);
}

TEST(Loader, LeavesOutBatchesThatFillNoStep) {
  const Numbers data(23);
  Loader all(data, {.batch_size = 4}, test_random(1));
  Loader steps(data, {.batch_size = 4, .step_batches = 2}, test_random(1));
  EXPECT_EQ(steps.batches_per_epoch(), 4u) << "of 5";
  for (const std::uint64_t epoch : {0, 1}) {
    for (std::uint64_t batch = 0; batch < 4; ++batch) {
      const Batch next = steps.next();
      EXPECT_EQ(next.position, (BatchPosition{epoch, batch}));
      EXPECT_EQ(next.images, all.next().images);
    }
    all.next();
  }
}

TEST(Loader, KeepsTheDataSetsOrderWithoutShuffling) {
  const Numbers data(5);
  Loader loader(data, {.batch_size = 3, .shuffle = false, .drop_last = false}, test_random(1));
  EXPECT_EQ(images_of(loader, 2),
            (std::vector<std::vector<float>>{{0, -0.0f, 1, -1, 2, -2}, {3, -3, 4, -4}}));
}

TEST(Loader, GivesTheSameBatchesWhateverItMakesAhead) {
  const Numbers data(50);
  Loader plain(data, {.batch_size = 8, .prefetch = 0}, test_random(2));
  const auto expected = images_of(plain, 20);
  for (const std::size_t prefetch : {1, 2, 7, 100}) {
    for (const std::size_t threads : {1, 2, 5}) {
      Loader loader(data, {.batch_size = 8, .prefetch = prefetch, .threads = threads},
                    test_random(2));
      EXPECT_EQ(images_of(loader, 20), expected) << prefetch << ", " << threads;
    }
  }
}

TEST(Loader, TellsTheDataSetTheEpoch) {
  Numbers data(6);
  data.label_is_epoch = true;
  for (const std::size_t prefetch : {0, 4}) {
    Loader loader(data, {.batch_size = 3, .prefetch = prefetch, .threads = 2}, test_random(2));
    for (std::int32_t batch = 0; batch < 6; ++batch) {
      EXPECT_EQ(loader.next().labels, std::vector<std::int32_t>(3, batch / 2));
    }
  }
}

// Taking a ready batch is no wait; having it made on demand is one.
TEST(Loader, MeasuresTheWait) {
  const Numbers data(100);
  Loader ahead(data, {.batch_size = 1, .prefetch = 3}, test_random(2));
  ahead.next();
  wait_for_reads(data, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // lets the last sample end, too
  ahead.next();
  EXPECT_EQ(ahead.last_wait_seconds(), 0);
  Loader behind(data, {.batch_size = 100, .prefetch = 0}, test_random(2));
  behind.next();
  EXPECT_GT(behind.last_wait_seconds(), 0);
}

TEST(Loader, StartsWhereARunWasStopped) {
  const Numbers data(50);
  for (const std::size_t prefetch : {0, 3}) {
    const LoaderOptions options{.batch_size = 8, .drop_last = false, .prefetch = prefetch};
    Loader whole(data, options, test_random(3));
    const auto expected = images_of(whole, 7 * 3);
    for (std::uint64_t done = 0; done <= 14; ++done) {
      LoaderOptions later = options;
      later.start = {done / 7, done % 7};
      Loader loader(data, later, test_random(3));
      EXPECT_EQ(loader.next().images, expected[done]);
    }
    LoaderOptions end = options;  // the end of an epoch is the beginning of the next
    end.start = {0, 7};
    Loader loader(data, end, test_random(3));
    const Batch batch = loader.next();
    EXPECT_EQ(batch.images, expected[7]);
    EXPECT_EQ(batch.position, (BatchPosition{1, 0}));
  }
}

TEST(Loader, MakesNoMoreAheadThanAsked) {
  const Numbers data(100);
  Loader loader(data, {.batch_size = 1, .prefetch = 3}, test_random(4));
  wait_for_reads(data, 3);
  for (std::size_t taken = 1; taken < 20; ++taken) {
    loader.next();
    wait_for_reads(data, 3 + taken);
    ASSERT_LE(data.reads, 3 + taken);
  }
}

TEST(Loader, UsesTheBuffersOfOldBatchesAgain) {
  const Numbers data(100);
  Loader loader(data, {.batch_size = 10, .prefetch = 2}, test_random(4));
  std::set<const float*> buffers;
  Batch batch;
  for (int i = 0; i < 100; ++i) {
    loader.next(batch);
    buffers.insert(batch.images.data());
  }
  EXPECT_LE(buffers.size(), 5u);  // two queued, one in the making, one taken, one spare
}

// Ten images of two pixels take 80 bytes.
TEST(Loader, HoldsNoMoreImagesThanPermitted) {
  const Numbers data(100);
  for (const std::size_t most : {1, 2, 3}) {
    Loader loader(data, {.batch_size = 10, .prefetch = 2, .most_bytes = most * 80 + 79},
                  test_random(4));
    Batch batch;
    for (std::size_t taken = 0; taken < 20; ++taken) {
      loader.next(batch);
      const std::size_t with_consumer = batch.images.capacity() * sizeof(float);
      ASSERT_LE(loader.held_bytes() + with_consumer, most * 80) << most;
      if (taken % 3 == 0) loader.give_back(batch);
    }
  }
}

TEST(Loader, OneBatchIsHeldHoweverLargeItIs) {
  const Numbers data(100);
  Loader plain(data, {.batch_size = 10, .prefetch = 0}, test_random(4));
  const auto expected = images_of(plain, 20);
  Loader loader(data, {.batch_size = 10, .most_bytes = 1}, test_random(4));
  EXPECT_EQ(images_of(loader, 20), expected);
}

// With one buffer, the threads fill it while the consumer computes only if it was given back.
TEST(Loader, FillsABufferThatWasGivenBackBeforeItIsAskedForTheNext) {
  const Numbers data(100);
  Loader loader(data, {.batch_size = 10, .most_bytes = 1}, test_random(4));
  Batch batch;
  loader.next(batch);
  const float* const buffer = batch.images.data();
  EXPECT_EQ(data.reads, 10u) << "the only buffer is the consumer's";
  const BatchPosition position = batch.position;
  loader.give_back(batch);
  wait_for_reads(data, 20);
  EXPECT_TRUE(batch.images.empty());
  EXPECT_EQ(batch.size, 10u);
  EXPECT_EQ(batch.position, position);
  loader.next(batch);
  EXPECT_EQ(batch.images.data(), buffer);
}

TEST(Loader, WorksWithoutThreadsOfItsOwnWhenBatchesAreGivenBack) {
  const Numbers data(20);
  Loader loader(data, {.batch_size = 10, .prefetch = 0}, test_random(4));
  Batch batch;
  loader.next(batch);
  loader.give_back(batch);
  loader.next(batch);
  EXPECT_EQ(batch.images.size(), 20u);
}

TEST(Loader, ThrowsWhatTheDataThrewInThatBatchsPlace) {
  for (const std::size_t prefetch : {0, 1, 5}) {
    Numbers data(40);
    data.bad_indices = {25};
    Loader loader(data, {.batch_size = 10, .shuffle = false, .prefetch = prefetch}, test_random(5));
    EXPECT_EQ(loader.next().images[0], 0);
    EXPECT_EQ(loader.next().images[0], 10);
    for (int again = 0; again < 3; ++again) {
      try {
        loader.next();
        FAIL() << "no exception";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "sample 25");
      }
    }
    EXPECT_EQ(data.reads, 26u) << "nothing is read after the failure";
  }
}

// The first sample in order counts, not the first thread to fail.
TEST(Loader, ThrowsForTheFirstSampleThatFails) {
  for (int round = 0; round < 100; ++round) {
    Numbers data(40);
    data.bad_indices = {25, 26, 27, 31, 39};
    Loader loader(data, {.batch_size = 10, .shuffle = false, .prefetch = 4, .threads = 4},
                  test_random(5));
    EXPECT_EQ(loader.next().images[0], 0);
    EXPECT_EQ(loader.next().images[0], 10);
    for (int again = 0; again < 2; ++again) {
      try {
        loader.next();
        FAIL() << "no exception";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "sample 25");
      }
    }
  }
}

TEST(Loader, StopsAtAnyMoment) {
  for (int round = 0; round < 300; ++round) {
    Numbers data(64);
    if (round % 5 == 0) data.bad_indices = {static_cast<std::size_t>(round) % 64};
    Loader loader(data,
                  {.batch_size = 4,
                   .prefetch = static_cast<std::size_t>(1 + round % 4),
                   .threads = static_cast<std::size_t>(1 + round % 3)},
                  test_random(static_cast<std::uint64_t>(round)));
    try {
      for (int taken = 0; taken < round % 20; ++taken) loader.next();
    } catch (const std::runtime_error&) {  // the bad sample of every fifth round
      EXPECT_EQ(round % 5, 0);
    }
  }
}

TEST(Loader, RefusesBatchesThatCannotBeMade) {
  const Numbers data(10);
  const auto error_of = [&data](const LoaderOptions& options) {
    return data_error_of([&] { Loader(data, options, test_random(1)); });
  };
  EXPECT_EQ(error_of({.batch_size = 0}),
            "[numbers] batch size, got 0, expected 1 to 10, the number of samples");
  EXPECT_EQ(error_of({.batch_size = 11, .drop_last = false}),
            "[numbers] batch size, got 11, expected 1 to 10, the number of samples");
  EXPECT_EQ(error_of({.batch_size = 4, .start = {0, 3}}),
            "[numbers] first batch, got 3, expected at most 2, the batches of an epoch");
}

}  // namespace
}  // namespace skyline
