#include "data/text/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/data/data_error_of.h"
#include "tests/data/test_random.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Word i of the text is i, so a window shows its place.
std::vector<std::uint16_t> counted(std::size_t size) {
  std::vector<std::uint16_t> text(size);
  std::iota(text.begin(), text.end(), std::uint16_t{0});
  return text;
}

WindowLoader loader_of(std::span<const std::uint16_t> text, const WindowLoaderOptions& options) {
  return {"text", text, options, test_random(3)};
}

TEST(TextWindows, LieSideBySideAndLeaveOutWhatFillsNone) {
  EXPECT_EQ(windows_of(counted(0), 3), 0u);
  EXPECT_EQ(windows_of(counted(3), 3), 0u);
  EXPECT_EQ(windows_of(counted(4), 3), 1u);
  EXPECT_EQ(windows_of(counted(111'540 % 65'536), 64), (111'540u % 65'536 - 1) / 64);
  const WindowBatch batch = windows_at(counted(12), 3, 1, 2);
  EXPECT_EQ(batch.windows, 2u);
  EXPECT_THAT(batch.words, ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(batch.answers, ElementsAre(4, 5, 6, 7, 8, 9));
}

TEST(WindowLoader, DrawsEveryPlaceOfTheText) {
  const auto text = counted(20);
  WindowLoader loader = loader_of(text, {.batch_size = 4, .length = 4});
  std::set<std::int32_t> starts;
  for (int i = 0; i < 100; ++i) {
    const WindowBatch batch = loader.next();
    ASSERT_EQ(batch.words.size(), 16u);
    for (std::size_t k = 0; k < 16; ++k) {
      ASSERT_EQ(batch.words[k], batch.words[k / 4 * 4] + static_cast<std::int32_t>(k % 4));
      ASSERT_EQ(batch.answers[k], batch.words[k] + 1);
      starts.insert(batch.words[k / 4 * 4]);
    }
  }
  EXPECT_EQ(starts.size(), 16u);
  EXPECT_EQ(*starts.rbegin(), 15);
}

TEST(WindowLoader, GoesOnAtAnyPosition) {
  const auto text = counted(500);
  WindowLoader all = loader_of(text, {.batch_size = 8, .length = 10});
  ASSERT_EQ(all.batches_per_epoch(), 6u);
  for (int i = 0; i < 15; ++i) {
    const WindowBatch batch = all.next();
    WindowLoader from = loader_of(text, {.batch_size = 8, .length = 10, .start = batch.position});
    EXPECT_EQ(from.next().words, batch.words) << i;
  }
}

TEST(WindowLoader, DrawsOtherWindowsInEachEpoch) {
  const auto text = counted(500);
  WindowLoader loader = loader_of(text, {.batch_size = 8, .length = 10});
  std::set<std::vector<std::int32_t>> batches;
  for (int i = 0; i < 12; ++i) batches.insert(loader.next().words);
  EXPECT_EQ(batches.size(), 12u);
}

TEST(WindowLoader, DividesBatchesAmongRanks) {
  const auto text = counted(500);
  WindowLoader all = loader_of(text, {.batch_size = 4, .length = 10, .step_batches = 3});
  std::vector<WindowLoader> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(loader_of(
        text,
        {.batch_size = 4, .length = 10, .step_batches = 3, .share = {.rank = rank, .ranks = 3}}));
  }
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(ranks[static_cast<std::size_t>(i) % 3].next().words, all.next().words) << i;
  }
}

TEST(WindowLoader, NamesATextThatIsTooShort) {
  EXPECT_THAT(data_error_of([] { loader_of(counted(5), {.batch_size = 1, .length = 5}); }),
              HasSubstr("[text] has no window of 5 words"));
  EXPECT_THAT(data_error_of([] { loader_of(counted(50), {.batch_size = 10, .length = 5}); }),
              HasSubstr("batch size, got 10, expected 1 to 9, the number of windows"));
}

}  // namespace
}  // namespace skyline
