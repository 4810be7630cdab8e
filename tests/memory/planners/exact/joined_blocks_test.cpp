#include "memory/planners/exact/joined_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "memory/planners/registry.h"
#include "memory/validator.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

constexpr std::uint64_t kRectangleBytes = 1 << 20;

struct Piece {
  Tick lower, upper;
  std::uint64_t low, high;  // bytes
};

// Cuts a piece in two, or in five of which four lie around the fifth.
void cut(Piece piece, bool in_five, std::mt19937_64& random, std::vector<Piece>& pieces) {
  const auto between = [&random](auto least, auto most) {
    return least +
           static_cast<decltype(least)>(random() % static_cast<std::uint64_t>(most - least));
  };
  const auto [lower, upper, low, high] = piece;
  if (in_five && upper - lower >= 4 && high - low >= 4) {
    const Tick x1 = between(lower + 1, upper - 2), x2 = between(x1 + 1, upper - 1);
    const std::uint64_t y1 = between(low + 1, high - 2), y2 = between(y1 + 1, high - 1);
    pieces.insert(pieces.end(), {{lower, x2, low, y1},
                                 {x2, upper, low, y2},
                                 {x1, upper, y2, high},
                                 {lower, x1, y1, high},
                                 {x1, x2, y1, y2}});
  } else if (random() % 2 == 0 && upper - lower > 1) {
    const Tick at = between(lower + 1, upper);
    pieces.insert(pieces.end(), {{lower, at, low, high}, {at, upper, low, high}});
  } else if (high - low > 1) {
    const std::uint64_t at = between(low + 1, high);
    pieces.insert(pieces.end(), {{lower, upper, low, at}, {lower, upper, at, high}});
  } else {
    pieces.push_back(piece);
  }
}

// A rectangle that was cut into pieces, without some of them.
Trace cut_rectangle(std::uint64_t seed, std::size_t count, std::uint64_t removed_percent) {
  std::mt19937_64 random(seed);
  std::vector<Piece> pieces = {{0, 1000, 0, kRectangleBytes}};
  while (pieces.size() < count) {
    std::swap(pieces[random() % pieces.size()], pieces.back());
    const Piece piece = pieces.back();
    pieces.pop_back();
    cut(piece, random() % 5 < 2, random, pieces);
  }
  std::erase_if(pieces, [&](const Piece&) { return random() % 100 < removed_percent; });
  std::shuffle(pieces.begin(), pieces.end(), random);
  Trace trace;
  for (const Piece& piece : pieces) {
    trace.blocks.push_back({piece.lower, piece.upper, piece.high - piece.low});
  }
  return trace;
}

JoinedBlocks join(const ExactProblem& problem) { return join_blocks(problem, {}); }

// Chance, two blocks of one interval that lay apart, stops a few.
TEST(JoinedBlocks, MakeARectangleWholeThatWasCut) {
  std::uint64_t whole = 0;
  for (const std::uint64_t seed : seeds(20)) {
    const Packing packing(cut_rectangle(seed, 100, 0), 1);
    const JoinedBlocks joined = join(exact_problems(packing).front());
    EXPECT_LE(joined.problem.size(), 30u) << "seed " << seed;
    whole += joined.problem.size() == 1 && joined.problem.units[0] == kRectangleBytes;
  }
  EXPECT_GE(whole, effort(20) / 2);
}

// Sizes of 1 to 4 and few ticks: nearly every sum of sizes is chance.
TEST(JoinedBlocks, OverlapNowhereAndLeaveNoRoomBetween) {
  std::size_t joins = 0;
  for (const std::uint64_t seed : seeds(2000)) {
    const Trace trace = random_trace(seed, 2 + seed % 40, 30, 4);
    const Packing packing(trace, 1);
    for (const ExactProblem& problem : exact_problems(packing)) {
      const JoinedBlocks joined = join(problem);
      ASSERT_EQ(joined.problem.most_units_in_use(), problem.most_units_in_use());
      std::vector<std::uint64_t> bottom;  // joined blocks one above the other
      std::uint64_t end = 0;
      for (const std::int64_t units : joined.problem.units) {
        bottom.push_back(std::exchange(end, end + static_cast<std::uint64_t>(units)));
      }
      Trace part;
      Plan plan{.peak = end * problem.unit_bytes, .alignment = 1};
      for (std::size_t k = 0; k < problem.size(); ++k) {
        part.blocks.push_back(trace.blocks[problem.blocks[k]]);
        const auto& [block, units] = joined.places[k];
        plan.offsets.push_back((bottom[block] + static_cast<std::uint64_t>(units)) *
                               problem.unit_bytes);
      }
      plan.lower_bound = plan.proved_bound = lower_bound_bytes(part, 1);
      joins += problem.size() - joined.problem.size();
      ASSERT_TRUE(validate(part, plan).valid) << seed;
    }
  }
  EXPECT_GT(joins, effort(2000));
}

TEST(JoinedBlocks, LeaveFixedAndAlignedBlocksAndGapsAlone) {
  const Trace row{.blocks = {{0, 2, 8}, {2, 4, 8}, {0, 4, 8}}};
  Trace fixed = row, aligned = row, with_gap = row;
  fixed.fixed_offsets = {{}, {}, 16};
  aligned.alignments = {1, 2, 16};
  with_gap.gaps = {{.block = 2, .lower = 1, .upper = 3}};
  const auto blocks = [](const Trace& trace) {
    return join(exact_problems(Packing(trace, 1)).front()).problem.size();
  };
  EXPECT_EQ(blocks(row), 1u);
  EXPECT_EQ(blocks(fixed), 0u);
  EXPECT_EQ(blocks(aligned), 0u);
  EXPECT_EQ(blocks(with_gap), 0u);
}

// Without joins, these stayed up to 3.5 % above after 4 s of a core.
TEST(JoinedBlocks, AreFoundAgainWherePiecesAreMissing) {
  for (const std::uint64_t seed : {0u, 8u, 18u}) {
    const Trace trace = cut_rectangle(seed, 300, 6);
    const Plan found = plan(trace, "exact", {.alignment = 1, .capacity = kRectangleBytes});
    EXPECT_LE(found.peak, kRectangleBytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skyline
