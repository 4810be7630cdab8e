#include "framework/lanes/byte_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

namespace skyline {
namespace {

using testing::ElementsAre;

class ByteUsesTest : public ::testing::Test {
 protected:
  ByteRange bytes(std::size_t begin, std::size_t end) const {
    return {memory_.data() + begin, end - begin};
  }
  LaneClock read(LaneOp op, std::size_t begin, std::size_t end) {
    const std::array ranges{bytes(begin, end)};
    return uses_.add(op, ranges, {});
  }
  LaneClock write(LaneOp op, std::size_t begin, std::size_t end) {
    const std::array ranges{bytes(begin, end)};
    return uses_.add(op, {}, ranges);
  }

  std::array<std::byte, 64> memory_{};
  ByteUses uses_{3};
};

TEST_F(ByteUsesTest, AReaderWaitsForTheWriterOfEachByte) {
  write({1, 1}, 0, 8);
  write({2, 1}, 8, 16);
  EXPECT_THAT(read({0, 1}, 0, 8), ElementsAre(0, 1, 0));
  EXPECT_THAT(read({0, 2}, 7, 9), ElementsAre(0, 1, 1));
  EXPECT_THAT(read({0, 3}, 16, 64), ElementsAre(0, 0, 0)) << "nobody wrote these bytes";
}

TEST_F(ByteUsesTest, ReadersDoNotWaitForReaders) {
  read({1, 1}, 0, 16);
  EXPECT_THAT(read({2, 1}, 0, 16), ElementsAre(0, 0, 0));
}

TEST_F(ByteUsesTest, AWriterWaitsForAllReadersAndTheWriter) {
  write({1, 1}, 0, 16);
  read({0, 5}, 4, 8);
  read({2, 7}, 6, 20);
  EXPECT_THAT(write({1, 2}, 0, 4), ElementsAre(0, 0, 0)) << "its own lane runs in sequence";
  EXPECT_THAT(write({1, 3}, 4, 5), ElementsAre(5, 0, 0));
  EXPECT_THAT(write({0, 6}, 5, 17), ElementsAre(0, 1, 7)) << "the bytes 8 to 15 are op 1's";
  EXPECT_THAT(read({2, 8}, 19, 20), ElementsAre(0, 0, 0));
}

TEST_F(ByteUsesTest, AnOpThatReadsAndWritesTheSameBytesDoesNotWaitForItself) {
  write({1, 1}, 0, 8);
  const std::array range{bytes(0, 8)};
  EXPECT_THAT(uses_.add({2, 1}, range, range), ElementsAre(0, 1, 0));
  EXPECT_THAT(read({1, 2}, 0, 8), ElementsAre(0, 0, 1));
}

TEST_F(ByteUsesTest, ForgetsWhatIsDone) {
  write({1, 1}, 0, 8);
  uses_.clear();
  EXPECT_THAT(write({2, 1}, 0, 8), ElementsAre(0, 0, 0));
}

// Another way to the same answer: byte by byte, every pair of ops.
TEST_F(ByteUsesTest, FindsEveryConflictOfRandomOpsAndNoOther) {
  struct Op {
    LaneOp place;
    std::vector<std::pair<std::size_t, std::size_t>> reads, writes;
    bool uses(const std::vector<std::pair<std::size_t, std::size_t>>& ranges,
              std::size_t byte) const {
      for (const auto& [begin, end] : ranges) {
        if (begin <= byte && byte < end) return true;
      }
      return false;
    }
    bool conflicts(const Op& other) const {
      for (std::size_t byte = 0; byte < 64; ++byte) {
        const bool written = uses(writes, byte), others = other.uses(other.writes, byte);
        if ((written && (others || other.uses(other.reads, byte))) ||
            (others && uses(reads, byte))) {
          return true;
        }
      }
      return false;
    }
  };
  std::mt19937 random(7);
  const auto number = [&random](std::size_t most) { return random() % most; };
  for (int program = 0; program < 300; ++program) {
    ByteUses uses(3);
    std::vector<Op> ops;
    std::vector<std::vector<bool>> before;  // [j][i]: op i is done before op j begins
    std::array<std::uint32_t, 3> counts{};
    for (std::size_t j = 0; j < 24; ++j) {
      Op op;
      op.place.lane = number(3);
      op.place.count = ++counts[op.place.lane];
      std::vector<ByteRange> reads, writes;
      for (auto* ranges : {&op.reads, &op.writes}) {
        for (std::size_t k = number(3); k > 0; --k) {
          const std::size_t begin = number(64);
          ranges->emplace_back(begin, begin + number(65 - begin));
          (ranges == &op.reads ? reads : writes)
              .push_back(bytes(ranges->back().first, ranges->back().second));
        }
      }
      const LaneClock waits = uses.add(op.place, reads, writes);
      before.emplace_back(j, false);
      for (std::size_t i = 0; i < j; ++i) {
        const LaneOp& place = ops[i].place;
        const bool direct = place.lane == op.place.lane || place.count <= waits[place.lane];
        if (place.lane != op.place.lane && place.count == waits[place.lane]) {
          EXPECT_TRUE(op.conflicts(ops[i])) << "op " << j << " waits for op " << i << " in vain";
        }
        if (!direct) continue;
        before[j][i] = true;
        for (std::size_t k = 0; k < i; ++k) before[j][k] = before[j][k] || before[i][k];
      }
      for (std::size_t i = 0; i < j; ++i) {
        if (op.conflicts(ops[i])) {
          EXPECT_TRUE(before[j][i]) << "program " << program << ": " << i << " and " << j;
        }
      }
      ops.push_back(std::move(op));
    }
  }
}

}  // namespace
}  // namespace skyline
