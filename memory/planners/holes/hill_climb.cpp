#include "memory/planners/holes/hill_climb.h"

#include <algorithm>
#include <cmath>

#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/packing.h"

namespace skyline {
namespace {

constexpr std::uint64_t kClimbs = 4;
// Climbs need more passes than restarts to be useful.
constexpr std::uint64_t kWorkPerRestart = 4;
// Measured on 100 to 1000 blocks: placing a block in HolePacker's list costs one skyline placement,
// plus one for each this many blocks in the list.
constexpr std::uint64_t kListedPerPlacement = 80;
constexpr std::uint64_t kStepsPerCooling = 256;
constexpr double kFirstTemperature =
    0.03;  // a climb by this share of the peak is accepted with probability 1/e

std::vector<BlockIndex> first_order(const Packing& packing, std::uint64_t climb) {
  if (climb % 4 == 1) return sorted_by(packing, SortKey::kSize);
  if (climb % 4 == 2) return sorted_by(packing, SortKey::kLifetime);
  if (climb % 4 == 3) return sorted_by(packing, SortKey::kArea);
  return in_order_of_requests(packing);
}

// One climb: its order, the placement from it, and the best so far.
class Climb {
 public:
  Climb(const Packing& packing, std::uint64_t seed, std::uint64_t number)
      : packing_(packing), random_(seed, number), packer_(packing) {
    order_ = first_order(packing, number);
    position_.resize(order_.size());
    for (BlockIndex i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  void set_deadline(const Deadline& deadline) { packer_.set_deadline(deadline); }
  Placement& best() { return best_; }

  // Makes the first placement; returns false if none was found in time.
  bool begin() {
    if (!packer_.pack(order_, kMaxAddress, current_)) return false;
    best_ = current_;
    best_order_ = order_;
    return true;
  }

  void step(std::uint64_t number) {
    const std::uint64_t cooling = number % kStepsPerCooling;
    if (number > 0 && cooling == 0) return_to_best();
    const double warmth = 1.0 - static_cast<double>(cooling) / kStepsPerCooling;
    const BlockIndex a = block_at_the_peak();
    const auto b = static_cast<BlockIndex>(random_.below(packing_.size()));
    exchange(a, b);
    if (!packer_.pack(order_, highest_accepted(warmth), next_)) return exchange(a, b);
    std::swap(current_, next_);
    if (current_.peak >= best_.peak) return;
    best_ = current_;
    best_order_ = order_;
  }

 private:
  void exchange(BlockIndex a, BlockIndex b) {
    std::swap(order_[position_[a]], order_[position_[b]]);
    std::swap(position_[a], position_[b]);
  }

  void return_to_best() {
    order_ = best_order_;
    current_ = best_;
    for (BlockIndex i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  // Drawn before the pass, so that the pass can stop above it.
  std::uint64_t highest_accepted(double warmth) {
    const double share = kFirstTemperature * warmth * -std::log(1.0 - random_.uniform());
    const double most = static_cast<double>(current_.peak) * (1.0 + share);
    if (most >= static_cast<double>(kMaxAddress)) return kMaxAddress;
    return std::max(current_.peak, static_cast<std::uint64_t>(most));
  }

  // Returns a block that reaches the peak or, half of the time, one alive beside it.
  BlockIndex block_at_the_peak() {
    const BlockIndex top = one_of([this](BlockIndex block) {
      return current_.offsets[block] + packing_.bytes[block] == current_.peak;
    });
    if (random_.below(2) == 0) return top;
    return one_of([this, top](BlockIndex block) {
      return packing_.lower[block] < packing_.upper[top] &&
             packing_.lower[top] < packing_.upper[block];
    });
  }

  // Returns the first block from a random one on that passes the test. At least one must.
  template <class Test>
  BlockIndex one_of(Test test) {
    auto block = static_cast<BlockIndex>(random_.below(packing_.size()));
    while (!test(block)) block = block + 1 == packing_.size() ? 0 : block + 1;
    return block;
  }

  const Packing& packing_;
  SplitMix random_;
  HolePacker packer_;
  std::vector<BlockIndex> order_, best_order_;
  std::vector<BlockIndex> position_;  // block → its place in order_
  Placement current_, next_, best_;
};

std::uint64_t steps_of_a_climb(std::size_t blocks, const SearchBudget& budget) {
  const std::uint64_t pass = kPassCost + blocks + blocks * blocks / kListedPerPlacement;
  return kWorkPerRestart * budget.placements / pass / kClimbs;
}

void run_climbs(const Packing& packing, std::uint64_t seed, std::uint64_t steps,
                const SearchBudget& budget, Race& race) {
  while (const std::optional<std::uint64_t> number = race.next()) {
    Climb climb(packing, seed, *number);
    climb.set_deadline(budget.deadline);
    if (!climb.begin()) return;
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (climb.best().peak <= budget.good_enough_bytes || budget.over()) break;
      if (!race.winning_peak(*number)) break;
      climb.step(step);
    }
    race.offer(*number, climb.best());
    if (budget.over()) return;
  }
}

}  // namespace

bool improve_by_hill_climb(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                           Placement& best) {
  if (packing.size() < 2 || best.peak <= budget.good_enough_bytes || budget.over()) return false;
  const auto threads = static_cast<std::uint64_t>(budget.threads);
  // No climb ends before the deadline, so each needs a thread.
  const std::uint64_t climbs = budget.deadline.time ? threads : kClimbs;
  const std::uint64_t steps = budget.deadline.time ? std::numeric_limits<std::uint64_t>::max()
                                                   : steps_of_a_climb(packing.size(), budget);
  if (steps == 0) return false;
  Race race(climbs, budget.good_enough_bytes, best);
  run_workers(static_cast<int>(std::min(threads, climbs)),
              [&](int) { run_climbs(packing, seed, steps, budget, race); });
  return race.improved();
}

Plan hill_climb(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  const SearchBudget budget(packing, options, deadline);
  Placement best =
      first_placement(packing, deadline, "hill-climb", [&](const Deadline& limit, Placement& out) {
        HolePacker packer(packing);
        packer.set_deadline(limit);
        return packer.pack(sorted_by(packing, SortKey::kSize), kMaxAddress, out);
      });
  improve_by_hill_climb(packing, options.seed, budget, best);
  return to_plan(packing, std::move(best), "hill-climb", options);
}

}  // namespace skyline
