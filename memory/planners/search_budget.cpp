#include "memory/planners/search_budget.h"

#include <algorithm>

namespace skyline {
namespace {

// A few dozen passes over a few hundred blocks: measured at about 5 ms at any number of blocks.
constexpr std::uint64_t kPlacements = 1 << 14;

}  // namespace

Deadline deadline_in(std::optional<double> seconds, const std::stop_source* stop) {
  Deadline deadline{.stop = stop};
  if (!seconds) return deadline;
  constexpr double kYear = 3.2e7;  // a longer limit would overflow the clock
  deadline.time =
      SearchClock::now() + std::chrono::duration_cast<SearchClock::duration>(
                               std::chrono::duration<double>(std::clamp(*seconds, 0.0, kYear)));
  return deadline;
}

std::optional<double> Deadline::seconds_left() const {
  if (!time) return {};
  return std::chrono::duration<double>(*time - SearchClock::now()).count();
}

Deadline Deadline::part(double share) const {
  const std::optional<double> seconds = seconds_left();
  return deadline_in(seconds ? std::optional(share * *seconds) : seconds, stop);
}

SearchBudget::SearchBudget(const Packing& packing, const PlanOptions& options, const Deadline& end)
    : good_enough_bytes(std::max(packing.lower_bound, options.capacity.value_or(0))),
      capacity(options.capacity),
      placements(kPlacements),
      deadline(end),
      threads(std::max(options.threads, 1)) {}

}  // namespace skyline
