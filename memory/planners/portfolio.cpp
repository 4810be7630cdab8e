#include "memory/planners/portfolio.h"

#include "memory/planners/gap_packer.h"
#include "memory/planners/restarts.h"

namespace skyline {
namespace {

constexpr std::size_t kMostBlocksForGreedy = 1 << 17;

// The best placement so far, and the rules that may better it.
class Contest {
 public:
  Contest(const Packing& packing, const PlanOptions& options)
      : packing_(packing),
        options_(options),
        budget_(packing, options),
        skyline_(packing),
        gaps_(packing) {}

  bool settled() const {
    return found_ && (best_.peak <= budget_.good_enough_bytes || budget_.over());
  }

  void skyline_by(SortKey key, std::string_view name) {
    if (!settled()) keep(skyline_.pack(sorted_by(packing_, key), limit(), next_), name);
  }

  void greedy_by(SortKey key, std::string_view name) {
    if (!settled()) keep(gaps_.pack(sorted_by(packing_, key), limit(), next_), name);
  }

  void restart() {
    if (!found_ || settled()) return;
    if (improve_by_restarts(packing_, skyline_, options_.seed, budget_, best_)) name_ = "restarts";
  }

  Plan plan() {
    require_addressable(found_, "portfolio");
    return to_plan(packing_, std::move(best_), name_, options_);
  }

 private:
  // Only a lower peak is of interest.
  std::uint64_t limit() const { return found_ ? best_.peak - 1 : kMaxAddress; }

  void keep(bool better, std::string_view name) {
    if (!better) return;
    std::swap(best_, next_);
    name_ = name;
    found_ = true;
  }

  const Packing& packing_;
  const PlanOptions& options_;
  SearchBudget budget_;
  SkylinePacker skyline_;
  GapPacker gaps_;
  Placement best_, next_;
  std::string_view name_;
  bool found_ = false;
};

}  // namespace

Plan portfolio(const Trace& trace, const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  Contest contest(packing, options);
  contest.skyline_by(SortKey::kLifetime, "best-fit");
  contest.skyline_by(SortKey::kArea, "best-fit-by-area");
  contest.skyline_by(SortKey::kSize, "best-fit-by-size");
  if (packing.size() <= kMostBlocksForGreedy) {
    contest.greedy_by(SortKey::kSize, "greedy-by-size");
    contest.greedy_by(SortKey::kLifetime, "greedy-by-lifetime");
  }
  contest.restart();
  return contest.plan();
}

}  // namespace skyline
