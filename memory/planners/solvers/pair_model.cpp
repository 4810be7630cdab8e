#include "memory/planners/solvers/pair_model.h"

#include <fmt/core.h>

#include <stdexcept>

#include "memory/planners/skyline/skyline_packer.h"

namespace skyline {
namespace {

void require_at_most(std::string_view name, std::string_view what, std::uint64_t got,
                     std::uint64_t most) {
  if (got <= most) return;
  throw std::invalid_argument(fmt::format(
      "[{}] too large for this planner: {}, got {}, expected at most {}", name, what, got, most));
}

}  // namespace

PairModel::PairModel(const Packing& packing, std::string_view name, const PairModelLimits& limits)
    : packing_(packing),
      name_(name),
      packer_(packing),
      unit_(packing.unit_bytes()),
      bound_(packing.lower_bound) {
  require_at_most(name_, "blocks", packing.size(), limits.blocks);
  find_pairs();
  require_at_most(name_, "pairs of blocks in use at the same tick", pairs_.size(), limits.pairs);
  place_simply();
  count_in_at_most(limits.units);
}

void PairModel::count_in_at_most(std::uint64_t units) {
  if (peak_units() <= units) return;
  // unit_ is a multiple of the alignment, and so is this one.
  unit_ *= (peak_units() + units - 1) / units;
  rounds_ = true;
}

void PairModel::find_pairs() {
  const UsedTicks ticks(packing_);
  for (BlockIndex a = 0; a < packing_.size(); ++a) {
    for (BlockIndex b = a + 1; b < packing_.size(); ++b) {
      if (ticks.meet(a, b) && !(packing_.is_fixed(a) && packing_.is_fixed(b)))
        pairs_.emplace_back(a, b);
    }
  }
}

void PairModel::place_simply() {
  rule_ = "greedy-by-size";
  bool found = packer_.pack(sorted_by(packing_, SortKey::kSize), kMaxAddress, best_);
  if (packing_.fixed.empty()) {
    Placement best_fit;
    const std::uint64_t limit = found ? best_.peak : kMaxAddress;
    if (SkylinePacker(packing_).pack(sorted_by(packing_, SortKey::kLifetime), limit, best_fit)) {
      rule_ = "best-fit";
      best_ = std::move(best_fit);
      found = true;
    }
  }
  require_addressable(found, name_);
}

bool PairModel::settled(const PlanOptions& options) const {
  if (best_.peak == bound_) return true;
  return options.capacity && (best_.peak <= *options.capacity || bound_ > *options.capacity);
}

std::optional<std::uint64_t> PairModel::units_to_ask_first(const PlanOptions& options) const {
  if (!options.capacity || to_units(*options.capacity) <= bound_units()) return {};
  return std::min(to_units(*options.capacity), peak_units() - 1);
}

void PairModel::offer_order(const std::vector<BlockIndex>& order) {
  Placement next;
  if (!packer_.pack(order, best_.peak - 1, next)) return;
  best_ = std::move(next);
  by_solver_ = true;
}

void PairModel::prove(std::uint64_t units) {
  const std::uint64_t bytes = std::min(units * unit_, best_.peak);
  by_solver_ = by_solver_ || bytes > bound_;
  bound_ = std::max(bound_, bytes);
}

Plan PairModel::plan(const PlanOptions& options) {
  Plan plan = to_plan(packing_, std::move(best_), by_solver_ ? name_ : rule_, options);
  plan.proved_bound = bound_;
  plan.proved_optimal = plan.peak == bound_;
  return plan;
}

}  // namespace skyline
