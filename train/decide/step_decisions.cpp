#include "train/decide/step_decisions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

}  // namespace

Json BudgetAnswer::json() const {
  return {{"budget", budget_bytes},
          {"reserved", reserved_bytes},
          {"reserved_without", unlimited_bytes},
          {"overhead", overhead()},
          {"bound", bound()},
          {"gap", overhead() - bound()},
          {"recomputed", recomputed},
          {"could_recompute", candidates},
          {"early_sums", savings && savings->early_sums},
          {"engines", engines},
          {"step_seconds", seconds},
          {"seconds_from", seconds_source},
          {"seconds", planning_seconds}};
}

std::string BudgetAnswer::text() const {
  if (!savings && engines.empty()) {
    return fmt::format("budget {}: the step fits as it is, in {}", format_bytes(budget_bytes),
                       format_bytes(reserved_bytes));
  }
  const std::string early = savings && savings->early_sums ? ", gradients are summed early" : "";
  const std::string smaller =
      engines.empty() ? "" : fmt::format(" (smaller engines: {})", engines.size());
  return fmt::format(
      "budget {}: {} of {} values are made again{}{}; the step fits in {} instead of {} and takes "
      "{} longer, at least {} (seconds {}; planned in {:.2f} s)",
      format_bytes(budget_bytes), recomputed, candidates, early, smaller,
      format_bytes(reserved_bytes), format_bytes(unlimited_bytes), percent(overhead()),
      percent(bound()), seconds_source, planning_seconds);
}

}  // namespace skyline
