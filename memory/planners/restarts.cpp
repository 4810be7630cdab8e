#include "memory/planners/restarts.h"

#include <algorithm>
#include <cmath>

namespace skyline {
namespace {

// Some dozen passes over a few hundred blocks: measured at about 5 ms whatever the number of
// blocks.
constexpr std::uint64_t kPlacements = 1 << 14;
constexpr std::uint64_t kPassCost = 128;  // of starting a pass, in placements

// Steele, Lea, Flood 2014: fast splittable generators; any seed will do.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  // Uniform in [0, 1).
  double uniform() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

struct Logs {
  std::vector<double> bytes, ticks;

  explicit Logs(const Packing& packing) {
    bytes.reserve(packing.size());
    ticks.reserve(packing.size());
    for (BlockIndex i = 0; i < packing.size(); ++i) {
      const Tick lower = packing.ticks[static_cast<std::size_t>(packing.lower[i])];
      const Tick upper = packing.ticks[static_cast<std::size_t>(packing.upper[i])];
      bytes.push_back(std::log(static_cast<double>(packing.bytes[i])));
      ticks.push_back(std::log(static_cast<double>(upper) - static_cast<double>(lower)));
    }
  }
};

// Largest key first, where log key = a log bytes + b log ticks + noise.
void draw_order(const Logs& logs, SplitMix& random, std::vector<double>& keys,
                std::vector<BlockIndex>& order) {
  const double size_weight = random.uniform();
  const double noise = random.uniform() < 0.5 ? 0.0 : 2.0 * random.uniform();
  for (BlockIndex i = 0; i < order.size(); ++i) {
    order[i] = i;
    keys[i] = size_weight * logs.bytes[i] + (1.0 - size_weight) * logs.ticks[i] +
              noise * random.uniform();
  }
  std::sort(order.begin(), order.end(), [&keys](BlockIndex a, BlockIndex b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  });
}

}  // namespace

SearchBudget::SearchBudget(const Packing& packing, const PlanOptions& options)
    : good_enough_bytes(std::max(packing.lower_bound, options.capacity.value_or(0))),
      placements(kPlacements) {
  if (!options.time_limit_seconds) return;
  constexpr double kYear = 3.2e7;  // a longer limit would overflow the clock
  deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         std::clamp(*options.time_limit_seconds, 0.0, kYear)));
}

bool improve_by_restarts(const Packing& packing, SkylinePacker& packer, std::uint64_t seed,
                         const SearchBudget& budget, Placement& best) {
  const Logs logs(packing);
  SplitMix random(seed);
  std::vector<double> keys(packing.size());
  std::vector<BlockIndex> order(packing.size());
  Placement next;
  bool improved = false;
  std::uint64_t placements = 0;
  while (best.peak > budget.good_enough_bytes && !budget.over()) {
    placements += packing.size() + kPassCost;
    if (!budget.deadline && placements > budget.placements) break;
    draw_order(logs, random, keys, order);
    if (!packer.pack(order, best.peak - 1, next)) continue;
    std::swap(best, next);
    improved = true;
  }
  return improved;
}

Plan restarts(const Trace& trace, const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  const SearchBudget budget(packing, options);
  SkylinePacker packer(packing);
  Placement best;
  require_addressable(packer.pack(sorted_by(packing, SortKey::kLifetime), kMaxAddress, best),
                      "restarts");
  improve_by_restarts(packing, packer, options.seed, budget, best);
  return to_plan(packing, std::move(best), "restarts", options);
}

}  // namespace skyline
