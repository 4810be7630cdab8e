#include "framework/lanes/lane_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <stdexcept>

#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;

using Cells = std::vector<std::uint64_t>;

ByteRange cells(const Cells& memory, std::size_t begin, std::size_t count = 1) {
  return {reinterpret_cast<const std::byte*>(memory.data() + begin), count * sizeof(memory[0])};
}

std::string error_of(LaneQueue& queue) {
  try {
    queue.wait();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// Waits for `flag`, but not for ever.
void wait_a_while(const std::atomic<bool>& flag) {
  for (int i = 0; i < 200 && !flag.load(); ++i) std::this_thread::sleep_for(microseconds(200));
}

TEST(LaneQueue, ALaneRunsItsOpsInSequence) {
  LaneQueue queue(3);
  std::array<std::vector<int>, 3> ran;
  for (int op = 0; op < 300; ++op) {
    const auto lane = static_cast<std::size_t>(op) % 3;
    queue.enqueue(lane, {}, {}, [&ran, lane, op] { ran[lane].push_back(op); });
  }
  queue.wait();
  for (const std::vector<int>& ops : ran) {
    EXPECT_EQ(ops.size(), 100u);
    EXPECT_TRUE(std::ranges::is_sorted(ops));
  }
  EXPECT_EQ(queue.waits(), 0u);
}

TEST(LaneQueue, OpsOfTwoLanesRunAtTheSameTime) {
  LaneQueue queue(3);
  std::atomic<bool> first{false}, second{false};
  bool met_first = false, met_second = false;
  queue.enqueue(1, {}, {}, [&] {
    first = true;
    wait_a_while(second);
    met_second = second;
  });
  queue.enqueue(2, {}, {}, [&] {
    second = true;
    wait_a_while(first);
    met_first = first;
  });
  queue.wait();
  EXPECT_TRUE(met_first && met_second);
}

TEST(LaneQueue, TheProgramsLaneRunsWhileTheProgramWaits) {
  LaneQueue queue(2);
  std::thread::id ran_on;
  queue.enqueue(0, {}, {}, [&ran_on] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::thread::id());
  queue.wait();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(LaneQueue, TheProgramIsOnlyAFewOpsAhead) {
  LaneQueue queue(2);
  std::uint32_t ran = 0;
  for (std::uint32_t op = 1; op <= 100; ++op) {
    queue.enqueue(0, {}, {}, [&ran] { ++ran; });
    EXPECT_EQ(ran, op - std::min(op, LaneQueue::kAhead));
  }
}

// The writer gives the reader every chance to come too early, so that a queue that does not order
// them is found out: with `declared` false the reader does not say what it reads.
std::uint64_t read_after_slow_write(bool declared) {
  LaneQueue queue(3);
  Cells memory(2, 0);
  std::atomic<bool> has_read{false};
  const std::array written{cells(memory, 0)};
  queue.enqueue(1, {}, written, [&] {
    wait_a_while(has_read);
    std::atomic_ref(memory[0]).store(7);
  });
  const std::array result{cells(memory, 1)};
  const std::span<const ByteRange> reads(written.data(), declared ? 1 : 0);
  queue.enqueue(2, reads, result, [&] {
    memory[1] = std::atomic_ref(memory[0]).load();
    has_read = true;
  });
  queue.wait();
  return memory[1];
}

TEST(LaneQueue, AReaderWaitsForTheWriter) { EXPECT_EQ(read_after_slow_write(true), 7u); }

TEST(LaneQueue, AMissingDependencyIsFound) { EXPECT_EQ(read_after_slow_write(false), 0u); }

TEST(LaneQueue, AWriterWaitsForReaders) {
  LaneQueue queue(3);
  Cells memory{5, 0};
  std::atomic<bool> written{false};
  const std::array shared{cells(memory, 0)}, result{cells(memory, 1)};
  queue.enqueue(1, shared, result, [&] {
    wait_a_while(written);
    memory[1] = memory[0];
  });
  queue.enqueue(2, {}, shared, [&] {
    memory[0] = 9;
    written = true;
  });
  queue.wait();
  EXPECT_THAT(memory, ElementsAre(9, 5));
}

TEST(LaneQueue, CountsAWaitOnce) {
  LaneQueue queue(2);
  Cells memory(4, 0);
  const std::array first{cells(memory, 0)}, second{cells(memory, 1)};
  queue.enqueue(1, {}, first, [] {});
  queue.enqueue(1, {}, second, [] {});
  queue.enqueue(0, second, {}, [] {});
  EXPECT_EQ(queue.waits(), 1u);
  queue.enqueue(0, first, {}, [] {});
  EXPECT_EQ(queue.waits(), 1u) << "the op before it waited for a later op of that lane";
  queue.wait();
}

TEST(LaneQueue, ThrowsTheFirstErrorOfTheProgramAndGoesOn) {
  LaneQueue queue(3);
  std::atomic<bool> failed{false}, ran_later{false};
  queue.enqueue(2, {}, {}, [&] {
    wait_a_while(failed);
    throw std::runtime_error("the first");
  });
  queue.enqueue(1, {}, {}, [&] {
    failed = true;
    throw std::runtime_error("the second");
  });
  queue.enqueue(1, {}, {}, [&] { ran_later = true; });
  EXPECT_EQ(error_of(queue), "the first");
  EXPECT_FALSE(ran_later);
  EXPECT_EQ(error_of(queue), "") << "an error is thrown once";
  queue.enqueue(1, {}, {}, [&] { ran_later = true; });
  queue.wait();
  EXPECT_TRUE(ran_later);
}

TEST(LaneQueue, OpsBeforeTheErrorRun) {
  LaneQueue queue(2);
  bool ran = false;
  queue.enqueue(0, {}, {}, [&] { ran = true; });
  queue.enqueue(1, {}, {}, [] { throw std::runtime_error("late"); });
  std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(error_of(queue), "late");
  EXPECT_TRUE(ran);
}

TEST(LaneQueue, FinishKeepsTheErrorForWait) {
  LaneQueue queue(2);
  queue.enqueue(1, {}, {}, [] { throw std::runtime_error("kept"); });
  queue.finish();
  EXPECT_EQ(error_of(queue), "kept");
  queue.enqueue(1, {}, {}, [] { throw std::runtime_error("dropped"); });
  queue.finish();
  queue.forget_error();
  EXPECT_EQ(error_of(queue), "");
}

TEST(LaneQueue, AnOpDoesNotWaitForItself) {
  LaneQueue queue(2);
  int ran = 0;
  for (const std::size_t lane : {0, 1}) {
    queue.enqueue(lane, {}, {}, [&queue] {
      queue.finish();
      queue.wait();
    });
  }
  queue.enqueue(1, {}, {}, [&ran] { ++ran; });
  queue.wait();
  EXPECT_EQ(ran, 1);
}

TEST(LaneQueue, EndsWithWorkPending) {
  Cells memory(1, 0);
  int ran = 0;
  {
    LaneQueue queue(2);
    const std::array shared{cells(memory, 0)};
    for (const std::size_t lane : {0, 1, 1, 0, 1}) {
      queue.enqueue(lane, {}, shared, [&ran] { ++ran; });
    }
  }
  EXPECT_EQ(ran, 0) << "lane 0 never ran, so the others waited for it";
}

// Each op adds up what it reads and writes the sum, mixed with its number, where it may. Delays are
// random, so lanes overtake each other wherever nothing holds them.
struct RandomProgram {
  struct Op {
    std::size_t lane = 0;
    std::vector<std::pair<std::size_t, std::size_t>> reads, writes;  // cell and count
    int delay = 0;
  };

  RandomProgram(std::uint32_t seed, std::size_t lanes) : random(seed) {
    for (Op& op : ops) {
      op.lane = random() % lanes;
      op.delay = random() % 8 == 0 ? static_cast<int>(random() % 50) : 0;  // microseconds
      for (std::size_t k = random() % 3; k > 0; --k) op.reads.push_back(some_cells());
      for (std::size_t k = 1 + random() % 2; k > 0; --k) op.writes.push_back(some_cells());
    }
  }

  std::pair<std::size_t, std::size_t> some_cells() {
    const std::size_t begin = random() % kCells;
    return {begin, 1 + random() % std::min<std::size_t>(4, kCells - begin)};
  }

  static void run(const Op& op, std::size_t number, Cells& memory) {
    if (op.delay > 0) std::this_thread::sleep_for(microseconds(op.delay));
    std::uint64_t sum = number;
    for (const auto& [begin, count] : op.reads) {
      for (std::size_t i = begin; i < begin + count; ++i) sum = sum * 31 + memory[i];
    }
    for (const auto& [begin, count] : op.writes) {
      for (std::size_t i = begin; i < begin + count; ++i) memory[i] = sum += i;
    }
  }

  Cells in_sequence() const {
    Cells memory(kCells, 1);
    for (std::size_t number = 0; number < ops.size(); ++number) run(ops[number], number, memory);
    return memory;
  }

  Cells on(LaneQueue& queue) const {
    Cells memory(kCells, 1);
    const auto ranges_of = [&memory](const auto& parts) {
      std::vector<ByteRange> ranges;
      for (const auto& [begin, count] : parts) ranges.push_back(cells(memory, begin, count));
      return ranges;
    };
    for (std::size_t number = 0; number < ops.size(); ++number) {
      const Op& op = ops[number];
      queue.enqueue(op.lane, ranges_of(op.reads), ranges_of(op.writes),
                    [&op, number, &memory] { run(op, number, memory); });
    }
    queue.wait();
    return memory;
  }

  static constexpr std::size_t kCells = 24;
  std::mt19937 random;
  std::array<Op, 20> ops;
};

TEST(LaneQueue, RandomProgramsGiveWhatOneLaneGives) {
  std::vector<std::unique_ptr<LaneQueue>> queues;
  for (std::size_t lanes = 1; lanes <= 4; ++lanes) {
    queues.push_back(std::make_unique<LaneQueue>(lanes));
  }
  const std::uint32_t programs = runs_all_cases() ? 1000 : 300;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    LaneQueue& queue = *queues[seed % 4];
    const RandomProgram program(seed, queue.lanes());
    ASSERT_EQ(program.on(queue), program.in_sequence()) << "seed " << seed;
  }
  EXPECT_GT(queues[3]->waits(), 0u);
}

TEST(LaneQueue, SharesEachIndexOnce) {
  for (const std::size_t lanes : {1, 2, 3, 4}) {
    LaneQueue queue(lanes);
    for (const std::int64_t count : {1, 2, 3, 7, 64, 65, 1000}) {
      for (const std::int64_t grain : {1, 16, 64}) {
        std::vector<int> met(static_cast<std::size_t>(count));
        queue.share(count, grain, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_EQ(begin % grain, 0);
          for (; begin < end; ++begin) ++met[static_cast<std::size_t>(begin)];
        });
        EXPECT_THAT(met, Each(1)) << lanes << " lanes, " << count << " by " << grain;
      }
    }
  }
}

TEST(LaneQueue, SharesALoopAtTheSameTime) {
  LaneQueue queue(2);
  std::array<std::atomic<bool>, 2> there{};
  queue.share(2, 1, [&](std::int64_t begin, std::int64_t) {
    there[static_cast<std::size_t>(begin)] = true;
    wait_a_while(there[static_cast<std::size_t>(1 - begin)]);
    EXPECT_TRUE(there[0] && there[1]);
  });
}

// The message of what the ranges that begin at these places throw.
std::string error_of_ranges(LaneQueue& queue, const std::vector<std::int64_t>& begins) {
  try {
    queue.share(4, 1, [&](std::int64_t begin, std::int64_t) {
      if (std::ranges::count(begins, begin) > 0) throw std::runtime_error(std::to_string(begin));
    });
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(LaneQueue, SharedLoopsThrowWhatTheFirstRangeThrows) {
  LaneQueue queue(4);
  EXPECT_EQ(error_of_ranges(queue, {3, 1}), "1");
  EXPECT_EQ(error_of_ranges(queue, {0, 2}), "0");
  EXPECT_EQ(error_of_ranges(queue, {}), "");
  bool ran = false;
  queue.enqueue(1, {}, {}, [&] { ran = true; });
  queue.wait();
  EXPECT_TRUE(ran);
}

TEST(LaneQueue, SharesLoopsBetweenOps) {
  LaneQueue queue(2);
  std::vector<std::int64_t> cells(64), sums;
  const auto bytes = [&](std::size_t first, std::size_t count) {
    return ByteRange{reinterpret_cast<const std::byte*>(&cells[first]), count * sizeof cells[0]};
  };
  for (int round = 1; round <= 200; ++round) {
    for (std::size_t half : {0, 32}) {
      const ByteRange writes[] = {bytes(half, 32)};
      queue.enqueue(half / 32, {}, writes, [&cells, half] {
        for (std::size_t i = half; i < half + 32; ++i) ++cells[i];
      });
    }
    queue.wait();
    queue.share(64, 1, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; ++begin) cells[static_cast<std::size_t>(begin)] *= 2;
    });
    sums.push_back(std::accumulate(cells.begin(), cells.end(), std::int64_t{0}));
    std::ranges::fill(cells, 0);
  }
  EXPECT_THAT(sums, Each(128));
}

}  // namespace
}  // namespace skyline
