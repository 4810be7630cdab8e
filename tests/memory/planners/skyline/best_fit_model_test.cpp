// Compares best-fit with the rule of PGMO section 3.2 written down plainly: a list of lines,
// searched from its start for each step. Every offset must be the same, so the order among equal
// lines and among equal blocks is tested, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "memory/planners/skyline/best_fit.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using Key = double (*)(const TraceBlock& block, std::uint64_t bytes);

double ticks_of(const TraceBlock& block) { return static_cast<double>(block.upper - block.lower); }
double lifetime(const TraceBlock& block, std::uint64_t) { return ticks_of(block); }
double size(const TraceBlock&, std::uint64_t bytes) { return static_cast<double>(bytes); }
double area(const TraceBlock& block, std::uint64_t bytes) {
  return ticks_of(block) * static_cast<double>(bytes);
}

class NaiveSkyline {
 public:
  NaiveSkyline(const Trace& trace, std::uint64_t alignment, Key key) : trace_(trace), key_(key) {
    Tick first = trace.blocks[0].lower, last = trace.blocks[0].upper;
    for (const TraceBlock& block : trace.blocks) {
      bytes_.push_back(planned_bytes(trace, bytes_.size(), alignment));
      first = std::min(first, block.lower);
      last = std::max(last, block.upper);
    }
    lines_.push_back({first, last, 0});
    offsets_.resize(trace.size());
  }

  std::vector<std::uint64_t> offsets() {
    for (std::size_t left = trace_.size(); left > 0;) {
      // The leftmost of the lowest lines: min_element returns the first.
      const auto line = std::ranges::min_element(lines_, {}, &Line::offset);
      if (const auto block = best_within(*line)) {
        place(static_cast<std::size_t>(line - lines_.begin()), *block);
        --left;
      } else {
        lift(static_cast<std::size_t>(line - lines_.begin()));
      }
    }
    return offsets_;
  }

 private:
  struct Line {
    Tick lower, upper;
    std::uint64_t offset;
  };

  // Larger key, then the larger block, then the longer-lived, then the earlier request.
  bool better(std::size_t a, std::size_t b) const {
    const TraceBlock &left = trace_.blocks[a], &right = trace_.blocks[b];
    const double left_key = key_(left, bytes_[a]), right_key = key_(right, bytes_[b]);
    if (left_key != right_key) return left_key > right_key;
    if (bytes_[a] != bytes_[b]) return bytes_[a] > bytes_[b];
    return ticks_of(left) != ticks_of(right) ? ticks_of(left) > ticks_of(right) : a < b;
  }

  std::optional<std::size_t> best_within(const Line& line) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const TraceBlock& block = trace_.blocks[i];
      if (placed_.contains(i) || block.lower < line.lower || block.upper > line.upper) continue;
      if (!best || better(i, *best)) best = i;
    }
    return best;
  }

  void place(std::size_t at, std::size_t block) {
    const Line whole = lines_[at];
    const auto [lower, upper, bytes] = trace_.blocks[block];
    std::vector<Line> parts;
    if (whole.lower < lower) parts.push_back({whole.lower, lower, whole.offset});
    parts.push_back({lower, upper, whole.offset + bytes_[block]});
    if (upper < whole.upper) parts.push_back({upper, whole.upper, whole.offset});
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at));
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(at), parts.begin(), parts.end());
    offsets_[block] = whole.offset;
    placed_.insert(block);
  }

  // Merges a line with its lowest neighbour, or with both if they are equally high.
  void lift(std::size_t at) {
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    const std::uint64_t before = at > 0 ? lines_[at - 1].offset : kNone;
    const std::uint64_t after = at + 1 < lines_.size() ? lines_[at + 1].offset : kNone;
    lines_[at].offset = std::min(before, after);
    if (after <= before) merge(at);
    if (before <= after) merge(at - 1);
  }

  void merge(std::size_t at) {
    lines_[at].upper = lines_[at + 1].upper;
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }

  const Trace& trace_;
  const Key key_;
  std::vector<std::uint64_t> bytes_, offsets_;
  std::vector<Line> lines_;
  std::set<std::size_t> placed_;
};

// Few ticks and sizes, so that many lines and blocks are equal.
Trace trace_of(std::uint64_t seed) {
  const std::size_t blocks = 1 + seed % 60;
  const auto ticks = static_cast<Tick>(2 + seed % 23);
  if (seed % 3 == 0) return training_trace(seed, 1 + seed % 20, 4);
  return seed % 3 == 1 ? with_bytes(random_trace(seed, blocks, ticks, 1 + seed % 5))
                       : short_lived_trace(seed, blocks, ticks, 1 + seed % 5);
}

TEST(BestFit, PlacesEveryBlockWhereThePlainRuleDoes) {
  const std::pair<PlannerFunction, Key> planners[] = {
      {best_fit, lifetime}, {best_fit_by_size, size}, {best_fit_by_area, area}};
  for (const std::uint64_t seed : seeds(6000)) {
    const Trace trace = trace_of(seed);
    const std::uint64_t alignment = 1 + seed % 2;
    for (const auto& [planner, key] : planners) {
      ASSERT_EQ(planner(trace, {.alignment = alignment}).offsets,
                NaiveSkyline(trace, alignment, key).offsets())
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace skyline
