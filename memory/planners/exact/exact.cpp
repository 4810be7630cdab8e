#include "memory/planners/exact/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "memory/planners/exact/exact_search.h"
#include "memory/planners/exact/joined_blocks.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/packing.h"
#include "memory/planners/skyline/best_fit.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostUnits = std::int64_t{1} << 60;  // sums of offsets stay within 64 bits
constexpr std::size_t kMostBlocks = 1 << 13;             // recursion is as deep as there are blocks
constexpr std::uint64_t kWork = std::uint64_t{1} << 33;  // for planner exact without a time limit

// An order is given up after this many failures, 10 % more each round, and later for a capacity
// above the bound, which usually can be found. Measured on MiniMalloc's challenging set with
// shuffled blocks: longer runs were unlucky more often.
constexpr double kFailures = 25, kFailuresAbove = 100, kGrowth = 1.1;
// A proof needs one run that is long enough. Each long run is twice as long as the last, and waits
// until all runs together failed as often.
constexpr std::uint64_t kFirstLongRun = 1000;
// A proof about joined blocks proves nothing of the blocks.
constexpr std::uint64_t kNoLongRun = std::numeric_limits<std::uint64_t>::max();
constexpr int kRoundsUnjoined = 1;  // easy packings end within them
// The search for a capacity gets this share of the time on one thread.
constexpr double kShareForCapacity = 0.1;
// Weights of sections fade by this factor from one run of an order to the next.
constexpr double kFading = 0.8;

// An order of the blocks, and what its runs learnt.
struct Order {
  bool learns;                             // keeps its weights between runs
  std::vector<std::uint32_t> blocks = {};  // tried first to last
  std::vector<double> keys = {};           // of those blocks; equal keys are shuffled
  std::vector<double> weights = {};        // by section
};

Order order_by(const std::vector<double>& keys, bool learns, std::int32_t sections) {
  Order order{.learns = learns};
  order.blocks.resize(keys.size());
  std::iota(order.blocks.begin(), order.blocks.end(), 0u);
  std::stable_sort(order.blocks.begin(), order.blocks.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] > keys[b]; });
  for (const std::uint32_t block : order.blocks) order.keys.push_back(keys[block]);
  order.weights.assign(static_cast<std::size_t>(sections), 0.0);
  return order;
}

void shuffle_equals(Order& order, SplitMix& random) {
  for (std::size_t first = 0, last; first < order.blocks.size(); first = last) {
    last = first + 1;
    while (last < order.blocks.size() && order.keys[last] == order.keys[first]) ++last;
    for (std::size_t k = last - 1; k > first; --k) {
      std::swap(order.blocks[k], order.blocks[first + random.below(k - first + 1)]);
    }
  }
}

// Searches for the lowest peak of one part.
class PartSearch {
 public:
  PartSearch(ExactProblem problem, const Placement& start, std::uint64_t seed);

  std::int64_t bound() const { return bound_; }  // units; no lower peak is possible
  std::int64_t peak() const { return peak_; }
  const ExactProblem& problem() const { return *problem_; }
  std::int64_t offset(std::size_t block) const { return offsets_[block]; }

  // Runs one more round: decides the lowest open capacity from `first` on, then, unless
  // `only_first`, those halfway to the best peak, until one is given up. Peaks below `enough` are
  // not needed.
  void round(std::int64_t enough, std::int64_t first, bool only_first, ExactEffort& effort);

 private:
  ExactSearch::Outcome decide(std::int64_t capacity, ExactEffort& effort);
  ExactSearch::Outcome run(Order& order, std::int64_t capacity, std::uint64_t failures,
                           ExactEffort& effort);
  void keep_found();
  void round_joined(std::int64_t enough, std::int64_t first, bool only_first, ExactEffort& effort);
  void join(const Deadline& deadline);

  std::unique_ptr<ExactProblem> problem_;  // search_ refers to it
  std::unique_ptr<ExactSearch> search_;
  SplitMix random_;
  std::vector<Order> orders_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::int64_t> offsets_;
  std::int64_t bound_ = 0, peak_ = 0;
  int rounds_ = 0;
  std::uint64_t failures_ = 0;  // since the last long run
  std::uint64_t long_run_ = kFirstLongRun;
  std::unique_ptr<PartSearch> joined_;  // of fewer blocks; null: none can be joined, or not yet
  std::vector<JoinedBlocks::Place> joined_places_;
};

PartSearch::PartSearch(ExactProblem problem, const Placement& start, std::uint64_t seed)
    : problem_(std::make_unique<ExactProblem>(std::move(problem))), random_(seed) {
  const ExactProblem& p = *problem_;
  bound_ = std::max(p.most_units_in_use(), p.highest_fixed_end());
  std::vector<double> width, early, late;
  for (std::size_t k = 0; k < p.size(); ++k) {
    offsets_.push_back(static_cast<std::int64_t>(start.offsets[p.blocks[k]] / p.unit_bytes));
    peak_ = std::max(peak_, offsets_[k] + p.units[k]);
    width.push_back(p.hull[k].end - p.hull[k].begin);
    early.push_back(-p.hull[k].begin);
    late.push_back(p.hull[k].begin);
  }
  orders_ = {order_by(p.ticks, true, p.sections), order_by(width, true, p.sections),
             order_by(early, false, p.sections), order_by(late, false, p.sections)};
  rank_.resize(p.size());
}

void PartSearch::round(std::int64_t enough, std::int64_t first, bool only_first,
                       ExactEffort& effort) {
  if (problem_->size() > kMostBlocks || peak_ > kMostUnits) return;
  if (search_ == nullptr) search_ = ExactSearch::make(*problem_, peak_);
  round_joined(enough, first, only_first, effort);
  std::int64_t hard = -1;  // highest capacity that is impossible or was given up
  for (int given_up = 0; given_up < 2 && effort.work > 0 && !passed(effort.deadline);) {
    const std::int64_t least = std::max(bound_, first);
    if (peak_ <= std::max(least, enough)) break;
    const std::int64_t capacity =
        given_up == 0 ? least : std::min((hard + peak_ + 1) / 2, peak_ - 1);
    if (capacity <= hard || (only_first && given_up > 0)) break;
    switch (decide(capacity, effort)) {
      case ExactSearch::Outcome::kFound:
        keep_found();
        break;
      case ExactSearch::Outcome::kImpossible:
        bound_ = capacity + 1;
        hard = std::max(hard, capacity);
        if (only_first) return;
        break;
      case ExactSearch::Outcome::kGaveUp:
        hard = capacity;
        ++given_up;
        break;
    }
  }
  ++rounds_;
}

// Searches among the packings in which joined blocks stay together.
void PartSearch::round_joined(std::int64_t enough, std::int64_t first, bool only_first,
                              ExactEffort& effort) {
  if (rounds_ == kRoundsUnjoined) join(effort.deadline);
  if (joined_ == nullptr) return;
  joined_->peak_ = peak_;
  joined_->round(enough, first, only_first, effort);
  if (joined_->peak_ == peak_) return;
  peak_ = joined_->peak_;
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    const auto& [block, units] = joined_places_[k];
    offsets_[k] = joined_->offsets_[block] + units;
  }
}

void PartSearch::join(const Deadline& deadline) {
  JoinedBlocks joined = join_blocks(*problem_, deadline);
  if (joined.problem.size() == 0 || joined.problem.size() == problem_->size()) return;
  joined_places_ = std::move(joined.places);
  const Placement bottom{.offsets = std::vector<std::uint64_t>(problem_->size(), 0)};
  joined_ = std::make_unique<PartSearch>(std::move(joined.problem), bottom, 0);
  joined_->random_ = random_;
  joined_->long_run_ = kNoLongRun;
}

ExactSearch::Outcome PartSearch::decide(std::int64_t capacity, ExactEffort& effort) {
  const auto failures = static_cast<std::uint64_t>(
      (capacity > bound_ ? kFailuresAbove : kFailures) * std::pow(kGrowth, rounds_));
  auto outcome = ExactSearch::Outcome::kGaveUp;
  for (std::size_t k = 0; k < orders_.size() && outcome == ExactSearch::Outcome::kGaveUp; ++k) {
    outcome = run(orders_[k], capacity, failures, effort);
  }
  if (outcome != ExactSearch::Outcome::kGaveUp || failures_ < long_run_) return outcome;
  failures_ = 0;
  long_run_ *= 2;
  return run(orders_.front(), capacity, long_run_ / 2, effort);
}

ExactSearch::Outcome PartSearch::run(Order& order, std::int64_t capacity, std::uint64_t failures,
                                     ExactEffort& effort) {
  if (effort.work == 0 || passed(effort.deadline)) return ExactSearch::Outcome::kGaveUp;
  if (rounds_ > 0) shuffle_equals(order, random_);
  for (std::uint32_t k = 0; k < order.blocks.size(); ++k) rank_[order.blocks[k]] = k;
  for (double& weight : order.weights) weight *= order.learns ? kFading : 0.0;
  effort.failures = failures;
  const auto outcome = search_->search(capacity, rank_, order.weights, effort);
  failures_ += failures - effort.failures;
  return outcome;
}

void PartSearch::keep_found() {
  peak_ = 0;
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    offsets_[k] = search_->offset_units(k);
    peak_ = std::max(peak_, offsets_[k] + problem_->units[k]);
  }
}

// Searches all parts of a packing under one budget.
class PackingSearch {
 public:
  PackingSearch(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                const Placement& start)
      : packing_(packing), budget_(budget) {
    for (ExactProblem& problem : exact_problems(packing)) {
      unit_bytes_ = problem.unit_bytes;
      parts_.emplace_back(std::move(problem), start, seed);
    }
  }

  // `only_capacity`: higher peaks are useless; else the capacity changes only when the search ends.
  void run(ExactEffort effort, bool only_capacity = false) {
    while (!settled() && effort.work > 0 && !passed(effort.deadline)) {
      const std::uint64_t before = effort.work;
      for (PartSearch& part : parts_) {
        part.round(enough_units(), only_capacity ? enough_units() : bound(), only_capacity, effort);
      }
      if (effort.work == before) break;  // the open parts are too large
    }
  }

  // True if no lower peak is needed: at the bound or within the capacity; or if none is within it.
  bool settled() const {
    if (budget_.capacity && bound_bytes() > *budget_.capacity) return true;
    return std::all_of(parts_.begin(), parts_.end(),
                       [this](const PartSearch& part) { return part.peak() <= enough_units(); });
  }

  std::uint64_t bound_bytes() const { return static_cast<std::uint64_t>(bound()) * unit_bytes_; }

  // Combines the parts; blocks that are never in use go to the bottom.
  Placement placement() const {
    Placement placement{.offsets = std::vector<std::uint64_t>(packing_.size(), 0)};
    for (BlockIndex i = 0; i < packing_.size(); ++i) {
      if (packing_.is_fixed(i)) placement.offsets[i] = packing_.fixed[i];
    }
    for (const PartSearch& part : parts_) {
      for (std::size_t k = 0; k < part.problem().size(); ++k) {
        placement.offsets[part.problem().blocks[k]] =
            static_cast<std::uint64_t>(part.offset(k)) * unit_bytes_;
      }
    }
    for (std::size_t i = 0; i < packing_.size(); ++i) {
      placement.peak = std::max(placement.peak, placement.offsets[i] + packing_.bytes[i]);
    }
    return placement;
  }

 private:
  std::int64_t bound() const {
    auto bound = static_cast<std::int64_t>((packing_.proved_bound + unit_bytes_ - 1) / unit_bytes_);
    for (const PartSearch& part : parts_) bound = std::max(bound, part.bound());
    return bound;
  }
  // No part needs to be better than another part's bound.
  std::int64_t enough_units() const {
    return std::max(bound(), static_cast<std::int64_t>(budget_.good_enough_bytes / unit_bytes_));
  }

  const Packing& packing_;
  const SearchBudget& budget_;
  std::vector<PartSearch> parts_;
  std::uint64_t unit_bytes_ = 1;
};

// Searches as without a capacity, with the same effort, so that the peak is no higher. A search for
// the capacity alone goes beside it; or before it, if there is one thread or no time limit.
void run_for_capacity(PackingSearch& search, PackingSearch& for_capacity,
                      const SearchBudget& budget, ExactEffort effort) {
  if (budget.threads == 1 || !budget.deadline.time) {
    for_capacity.run({.work = effort.work, .deadline = effort.deadline.part(kShareForCapacity)},
                     true);
    if (!for_capacity.settled()) search.run(effort);
    return;
  }
  std::stop_source ended;
  const std::stop_callback forward(
      budget.deadline.stop != nullptr ? budget.deadline.stop->get_token() : std::stop_token(),
      [&ended] { ended.request_stop(); });
  effort.deadline.stop = &ended;
  run_workers(2, [&](int worker) {
    (worker == 0 ? search : for_capacity).run(effort, worker > 0);
    ended.request_stop();
  });
}

template <class Packer>
bool packed(const Packing& packing, SortKey key, const Deadline& deadline, Placement& out) {
  Packer packer(packing);
  packer.set_deadline(deadline);
  return packer.pack(sorted_by(packing, key), kMaxAddress, out);
}

}  // namespace

bool improve_by_exact(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                      std::uint64_t work, Placement& best, std::uint64_t& proved_bound) {
  if (best.out_of_time) return false;  // no time is left to divide the packing into parts
  std::vector<PackingSearch> searches;
  searches.reserve(2);  // they refer to the budget
  const ExactEffort effort{.work = budget.deadline.time ? ~std::uint64_t{0} : work,
                           .deadline = budget.deadline};
  searches.emplace_back(packing, seed, budget, best);
  if (budget.capacity) {
    searches.emplace_back(packing, seed, budget, best);
    run_for_capacity(searches[0], searches[1], budget, effort);
  } else {
    searches[0].run(effort);
  }
  for (BlockIndex i = 0; i < packing.size(); ++i) {  // includes blocks that are never in use
    proved_bound =
        std::max(proved_bound, packing.bytes[i] + (packing.is_fixed(i) ? packing.fixed[i] : 0));
  }
  bool improved = false;
  for (const PackingSearch& search : searches) {
    proved_bound = std::max(proved_bound, search.bound_bytes());
    Placement found = search.placement();
    if (found.peak >= best.peak) continue;
    best = std::move(found);
    improved = true;
  }
  return improved;
}

Plan exact(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  const SearchBudget budget(packing, options, deadline);
  Placement best =
      first_placement(packing, deadline, "exact", [&](const Deadline& limit, Placement& out) {
        return packing.fixed.empty()
                   ? packed<SkylinePacker>(packing, SortKey::kLifetime, limit, out)
                   : packed<HolePacker>(packing, SortKey::kSize, limit, out);
      });
  std::uint64_t proved_bound = packing.proved_bound;
  improve_by_exact(packing, options.seed, budget, kWork, best, proved_bound);
  Plan plan = to_plan(packing, std::move(best), "exact", options);
  plan.proved_bound = proved_bound;
  plan.proved_optimal = plan.peak == proved_bound;
  return plan;
}

}  // namespace skyline
