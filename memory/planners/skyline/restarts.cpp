#include "memory/planners/skyline/restarts.h"

#include <algorithm>
#include <cmath>

#include "memory/planners/packing.h"

namespace skyline {
namespace {

struct Logs {
  std::vector<double> bytes, ticks;

  explicit Logs(const Packing& packing) {
    bytes.reserve(packing.size());
    ticks.reserve(packing.size());
    for (BlockIndex i = 0; i < packing.size(); ++i) {
      const Tick lower = packing.ticks[static_cast<std::size_t>(packing.lower[i])];
      const Tick upper = packing.ticks[static_cast<std::size_t>(packing.upper[i])];
      bytes.push_back(std::log(std::max(static_cast<double>(packing.bytes[i]), 1.0)));
      ticks.push_back(std::log(static_cast<double>(upper) - static_cast<double>(lower)));
    }
  }
};

// Draws orders, largest key first; log key = a log bytes + b log ticks + noise.
class OrderDrawer {
  static constexpr std::uint64_t kEvenPasses = 15;
  static constexpr double kOff = 1.0 / 64;

  // Mirrors the binary digits of `number` at the point (van der Corput's sequence).
  static double bits_reversed(std::uint64_t number) {
    double result = 0;
    for (double digit = 0.5; number > 0; number /= 2, digit /= 2) {
      if (number % 2 == 1) result += digit;
    }
    return result;
  }

 public:
  explicit OrderDrawer(const Logs& logs)
      : logs_(logs), keys_(logs.bytes.size()), order_(logs.bytes.size()) {}

  // The first passes spread the weights evenly, without noise: 1/2, 1/4, 3/4, 1/8, …, each slightly
  // off, by the seed.
  const std::vector<BlockIndex>& draw(std::uint64_t pass, SplitMix random) {
    const bool even = pass < kEvenPasses;
    const double size_weight =
        even ? bits_reversed(pass + 1) + kOff * random.uniform() : random.uniform();
    const double noise = even || random.uniform() < 0.5 ? 0.0 : 2.0 * random.uniform();
    for (BlockIndex i = 0; i < order_.size(); ++i) {
      order_[i] = i;
      keys_[i] = size_weight * logs_.bytes[i] + (1.0 - size_weight) * logs_.ticks[i] +
                 noise * random.uniform();
    }
    std::sort(order_.begin(), order_.end(), [this](BlockIndex a, BlockIndex b) {
      return keys_[a] != keys_[b] ? keys_[a] > keys_[b] : a < b;
    });
    return order_;
  }

 private:
  const Logs& logs_;
  std::vector<double> keys_;
  std::vector<BlockIndex> order_;
};

void run_passes(Race& race, const Logs& logs, std::uint64_t seed, const SearchBudget& budget,
                SkylinePacker& packer) {
  packer.set_deadline(budget.deadline);
  OrderDrawer drawer(logs);
  Placement next;
  while (!budget.over()) {
    const std::optional<std::uint64_t> pass = race.next();
    if (!pass) break;
    const std::vector<BlockIndex>& order = drawer.draw(*pass, SplitMix(seed, *pass));
    const std::optional<std::uint64_t> limit = race.winning_peak(*pass);
    if (limit && packer.pack(order, *limit, next)) race.offer(*pass, next);
  }
  packer.set_deadline({});
}

}  // namespace

bool improve_by_restarts(const Packing& packing, SkylinePacker& packer, std::uint64_t seed,
                         const SearchBudget& budget, Placement& best) {
  const std::uint64_t passes = budget.deadline.time
                                   ? std::numeric_limits<std::uint64_t>::max()
                                   : budget.placements / (packing.size() + kPassCost);
  if (passes == 0 || best.peak <= budget.good_enough_bytes || budget.over()) return false;
  const Logs logs(packing);
  Race race(passes, budget.good_enough_bytes, best);
  const auto workers =
      static_cast<int>(std::min(static_cast<std::uint64_t>(budget.threads), passes));
  run_workers(workers, [&](int worker) {
    if (worker == 0) return run_passes(race, logs, seed, budget, packer);
    SkylinePacker own(packing);
    run_passes(race, logs, seed, budget, own);
  });
  return race.improved();
}

Plan restarts(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  const SearchBudget budget(packing, options, deadline);
  SkylinePacker packer(packing);
  Placement best =
      first_placement(packing, deadline, "restarts", [&](const Deadline& limit, Placement& out) {
        packer.set_deadline(limit);
        return packer.pack(sorted_by(packing, SortKey::kLifetime), kMaxAddress, out);
      });
  improve_by_restarts(packing, packer, options.seed, budget, best);
  return to_plan(packing, std::move(best), "restarts", options);
}

}  // namespace skyline
