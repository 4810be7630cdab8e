// Derives every step of best-fit's log again from the rules of PGMO section 3.2 and figure 1,
// without code of the planner: the line, why it was chosen, and what followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using LogKind = BestFitEvent::Kind;

constexpr const char* kPlanners[] = {"best-fit", "best-fit-by-size", "best-fit-by-area"};

// Two towers, a valley between them that only the chip fits, and a lid.
const Trace kValley{.blocks = {{0, 4, 8}, {6, 10, 6}, {0, 10, 2}, {4, 6, 1}}};

struct Line {
  Tick lower = 0, upper = 0;
  std::uint64_t offset = 0;
};

// Sorts all blocks by descending key. Ties: the larger first, then the longer-lived, then the
// earlier.
std::vector<std::size_t> in_order_of_key(const Trace& trace,
                                         const std::vector<std::uint64_t>& rounded,
                                         const std::string& planner) {
  std::vector<std::size_t> order(trace.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](std::size_t i) {
    const TraceBlock& block = trace.blocks[i];
    const std::uint64_t bytes = rounded[i];
    const auto ticks =
        static_cast<std::uint64_t>(block.upper) - static_cast<std::uint64_t>(block.lower);
    if (planner == "best-fit") return std::tuple(0.0, ticks, bytes, ticks);
    if (planner == "best-fit-by-size") return std::tuple(0.0, bytes, ticks, bytes);
    return std::tuple(static_cast<double>(bytes) * static_cast<double>(ticks), bytes, ticks, bytes);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  return order;
}

// The skyline over time: a row of adjacent lines.
class Outline {
 public:
  Outline(Tick first, Tick last) { add({first, last, 0}); }

  Line lowest() const { return lines_.at(by_height_.begin()->second); }
  std::size_t equally_low() const {
    const std::uint64_t height = by_height_.begin()->first;
    return static_cast<std::size_t>(std::distance(
        by_height_.begin(), by_height_.lower_bound(std::pair(height + 1, lines_.begin()->first))));
  }

  // Places a block on a line, which splits it into up to three.
  void place(const Line& line, const TraceBlock& block, std::uint64_t top) {
    remove(line);
    if (line.lower < block.lower) add({line.lower, block.lower, line.offset});
    add({block.lower, block.upper, top});
    if (block.upper < line.upper) add({block.upper, line.upper, line.offset});
  }

  // Merges a line with its lowest neighbour, or with both if they are equally high. Returns what
  // became of it; nothing for the only line.
  std::optional<Line> lift(const Line& line) {
    const auto here = lines_.find(line.lower);
    std::optional<Line> left, right;
    if (here != lines_.begin()) left = std::prev(here)->second;
    if (std::next(here) != lines_.end()) right = std::next(here)->second;
    if (!left && !right) return std::nullopt;
    const bool joins_left = left && (!right || left->offset <= right->offset);
    const bool joins_right = right && (!left || right->offset <= left->offset);
    const Line merged{joins_left ? left->lower : line.lower,
                      joins_right ? right->upper : line.upper,
                      joins_left ? left->offset : right->offset};
    remove(line);
    if (joins_left) remove(*left);
    if (joins_right) remove(*right);
    add(merged);
    return merged;
  }

 private:
  void add(const Line& line) {
    lines_.emplace(line.lower, line);
    by_height_.emplace(line.offset, line.lower);
  }
  void remove(const Line& line) {
    lines_.erase(line.lower);
    by_height_.erase({line.offset, line.lower});
  }

  std::map<Tick, Line> lines_;                          // by their first tick
  std::set<std::pair<std::uint64_t, Tick>> by_height_;  // offset, first tick
};

// Returns the log that the rules demand; empty for a trace that they cannot pack.
BestFitLog log_by_rules(const Trace& trace, std::uint64_t alignment, const std::string& planner) {
  if (trace.size() == 0) return {};
  std::vector<std::uint64_t> rounded;
  Tick first = trace.blocks[0].lower, last = trace.blocks[0].upper;
  for (const TraceBlock& block : trace.blocks) {
    rounded.push_back(planned_bytes(trace, rounded.size(), alignment));
    first = std::min(first, block.lower);
    last = std::max(last, block.upper);
  }
  Outline outline(first, last);
  std::vector<std::size_t> unplaced = in_order_of_key(trace, rounded, planner);
  BestFitLog log;
  while (!unplaced.empty()) {
    const Line line = outline.lowest();
    std::vector<std::size_t> candidates;  // in the order of their keys
    for (const std::size_t block : unplaced) {
      const TraceBlock& one = trace.blocks[block];
      if (one.lower >= line.lower && one.upper <= line.upper) candidates.push_back(block);
    }
    log.push_back({.kind = LogKind::kChoice,
                   .lower = line.lower,
                   .upper = line.upper,
                   .offset = line.offset,
                   .equally_low = outline.equally_low(),
                   .candidates = candidates.size()});
    if (candidates.size() > 1) log.back().runner_up = candidates[1];
    if (candidates.empty()) {
      const std::optional<Line> merged = outline.lift(line);
      if (!merged) return {};
      log.push_back({.kind = LogKind::kLift,
                     .lower = merged->lower,
                     .upper = merged->upper,
                     .offset = line.offset,
                     .raised_offset = merged->offset});
      continue;
    }
    const std::size_t block = candidates[0];
    const TraceBlock& placed = trace.blocks[block];
    const std::uint64_t top = line.offset + rounded[block];
    outline.place(line, placed, top);
    std::erase(unplaced, block);
    log.push_back({.kind = LogKind::kPlacement,
                   .lower = placed.lower,
                   .upper = placed.upper,
                   .offset = line.offset,
                   .raised_offset = top,
                   .block = block});
  }
  return log;
}

BestFitLog log_of(const Trace& trace, std::uint64_t alignment, const std::string& planner) {
  BestFitLog log;
  plan(trace, planner, {.alignment = alignment, .log = &log});
  return log;
}

TEST(BestFitLogs, FollowTheRulesForEveryTraceAndKey) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Trace trace = seed % 2 == 0 ? with_bytes(random_trace(seed, 1 + seed % 40, 30, 100))
                                      : training_trace(seed, 1 + seed % 15, 4000);
    for (const char* planner : kPlanners) {
      const std::uint64_t alignment = 1 + seed % 5;
      ASSERT_EQ(log_of(trace, alignment, planner), log_by_rules(trace, alignment, planner))
          << planner << " on seed " << seed;
    }
  }
}

TEST(BestFitLogs, FollowTheRulesAtExtremes) {
  for (const char* planner : kPlanners) {
    for (const Trace& trace : {Trace{}, Trace{.blocks = {{INT64_MIN, INT64_MAX, INT64_MAX}}},
                               Trace{.blocks = std::vector<TraceBlock>(300, {5, 6, 7})},
                               Trace{.blocks = {{0, 4, 8}, {6, 10, 6}}, .gaps = {{0, 1, 3}}}}) {
      EXPECT_EQ(log_of(trace, 1, planner), log_by_rules(trace, 1, planner)) << planner;
    }
  }
}

TEST(BestFitLogs, GiveTheReasonsOfEachChoice) {
  const BestFitLog log = log_of(kValley, 1, "best-fit-by-size");
  ASSERT_EQ(log.size(), 12u);
  EXPECT_EQ(log[0].candidates, 4u);
  EXPECT_EQ(log[0].runner_up, 1u);
  EXPECT_EQ(log[2].equally_low, 1u) << "[4, 10) is one line";
  EXPECT_EQ(log[4].candidates, 1u);
  EXPECT_EQ(log[4].runner_up, std::nullopt);
  EXPECT_EQ(log[6].candidates, 0u) << "the line is lifted";
  const BestFitLog even =
      log_of({.blocks = {{0, 2, 4}, {2, 4, 4}, {0, 4, 1}}}, 1, "best-fit-by-size");
  EXPECT_EQ(even[4].equally_low, 2u);
}

// The check above would find each of these.
TEST(BestFitLogs, DifferWhereverARuleIsBroken) {
  const BestFitLog log = log_of(kValley, 1, "best-fit");
  EXPECT_NE(log, log_by_rules(kValley, 1, "best-fit-by-size"));
  const std::function<void(BestFitEvent&)> breaks[] = {
      [](BestFitEvent& event) { event.offset += 1; },
      [](BestFitEvent& event) { event.equally_low += 1; },
      [](BestFitEvent& event) { event.candidates += 1; },
      [](BestFitEvent& event) { event.runner_up = event.runner_up.value_or(0) + 1; },
  };
  for (std::size_t i = 0; i < log.size(); ++i) {
    for (const auto& break_rule : breaks) {
      BestFitLog changed = log;
      break_rule(changed[i]);
      EXPECT_NE(changed, log_by_rules(kValley, 1, "best-fit")) << i;
    }
  }
  const BestFitLog shorter(log.begin(), log.end() - 2);
  EXPECT_NE(shorter, log_by_rules(kValley, 1, "best-fit"));
}

}  // namespace
}  // namespace skyline
