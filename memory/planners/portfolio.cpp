#include "memory/planners/portfolio.h"

#include <algorithm>

#include "memory/planners/exact/exact.h"
#include "memory/planners/holes/hill_climb.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/packing.h"
#include "memory/planners/search.h"
#include "memory/planners/skyline/restarts.h"

namespace skyline {
namespace {

constexpr std::size_t kMostBlocksForHoles = 1 << 17;
// Measured on training steps of Inception-ResNet (2,406 blocks): on large traces a few restarts
// cost less, and gain more, than another sort key, a hole rule or the exact search's first descent.
constexpr std::size_t kMostBlocksForRestartsLast = 1 << 10;
constexpr std::uint64_t kExactWork = 1 << 24;  // without a time limit: about a third of a second

// The best placement so far, and the planners that may improve it.
class PortfolioSearch {
 public:
  PortfolioSearch(const Packing& packing, const PlanOptions& options, const Deadline& deadline)
      : packing_(packing),
        options_(options),
        budget_(packing, options, deadline),
        proved_bound_(packing.proved_bound),
        fallback_(fallback_placement(packing, first_deadline(packing, deadline))) {}

  bool settled() const {
    return found_ && (best_.peak <= std::max(budget_.good_enough_bytes, proved_bound_) ||
                      proved_bound_ > options_.capacity.value_or(kMaxAddress) || budget_.over());
  }

  void best_fit() { skyline_rule(SortKey::kLifetime, "best-fit"); }

  void other_keys() {
    skyline_rule(SortKey::kArea, "best-fit-by-area");
    skyline_rule(SortKey::kSize, "best-fit-by-size");
  }

  void hole_rules() {
    if (found_ && packing_.size() > kMostBlocksForHoles) return;
    const auto pack = [&](SortKey key, HoleChoice choice, std::string_view name) {
      if (ended()) return;
      HolePacker packer(packing_, choice);
      packer.set_deadline(deadline());
      keep(packer.pack(sorted_by(packing_, key), limit(), next_), name);
    };
    pack(SortKey::kSize, HoleChoice::kLowest, "greedy-by-size");
    pack(SortKey::kLifetime, HoleChoice::kSmallest, "greedy-by-lifetime");
    if (ended()) return;
    keep(pack_in_order_of_requests(packing_, deadline(), limit(), next_), kProgramOrderPlanner);
  }

  // Searches get this share of the remaining time.
  void exact(double share) {
    if (!found_ || settled()) return;
    if (improve_by_exact(packing_, options_.seed, budget_for(share), kExactWork, best_,
                         proved_bound_)) {
      name_ = "exact";
    }
  }

  void restart(double share) {
    if (!found_ || settled() || !packing_.fixed.empty()) return;
    SkylinePacker skyline(packing_);
    if (improve_by_restarts(packing_, skyline, options_.seed, budget_for(share), best_)) {
      name_ = "restarts";
    }
  }

  void climb(double share) {
    if (!found_ || settled() || packing_.size() > kMostBlocksForHoles) return;
    if (improve_by_hill_climb(packing_, options_.seed, budget_for(share), best_)) {
      name_ = "hill-climb";
    }
  }

  Plan plan() {
    if (!found_) {
      require_addressable(fallback_ && passed(deadline()), "portfolio");
      best_ = *std::move(fallback_);
    }
    Plan plan = to_plan(packing_, std::move(best_), name_, options_);
    plan.proved_bound = proved_bound_;
    plan.proved_optimal = plan.peak == proved_bound_;
    return plan;
  }

 private:
  void skyline_rule(SortKey key, std::string_view name) {
    if (ended() || !packing_.fixed.empty()) return;
    SkylinePacker skyline(packing_);
    skyline.set_deadline(deadline());
    keep(skyline.pack(sorted_by(packing_, key), limit(), next_), name);
  }

  Deadline deadline() const {
    return found_ ? budget_.deadline : first_deadline(packing_, budget_.deadline);
  }

  // True if another rule would have no time or no use.
  bool ended() const { return settled() || passed(deadline()); }

  // Only a lower peak is accepted.
  std::uint64_t limit() const { return found_ ? best_.peak - 1 : kMaxAddress; }

  void keep(bool better, std::string_view name) {
    if (!better) return;
    std::swap(best_, next_);
    name_ = name;
    found_ = true;
  }

  SearchBudget budget_for(double share) const {
    SearchBudget budget = budget_;
    budget.deadline = budget_.deadline.part(share);
    return budget;
  }

  const Packing& packing_;
  const PlanOptions& options_;
  SearchBudget budget_;
  std::uint64_t proved_bound_;
  std::optional<Placement> fallback_;
  Placement best_, next_;
  std::string_view name_;
  bool found_ = false;
};

}  // namespace

Plan portfolio(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  PortfolioSearch search(packing, options, deadline);
  const bool large = packing.size() > kMostBlocksForRestartsLast;
  search.best_fit();
  if (large) search.restart(0.25);
  search.other_keys();
  search.hole_rules();
  search.exact(large ? 0.7 : 1);
  search.restart(0.5);
  search.climb(1);
  return search.plan();
}

}  // namespace skyline
