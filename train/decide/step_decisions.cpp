#include "train/decide/step_decisions.h"

#include <fmt/format.h>

#include "train/cli/byte_sizes.h"

namespace skyline {
Rows<BudgetAnswer> rows(const BudgetAnswer*) {
  return {
      {"budget", kBytes, "that were given; like the next two, resident ones included",
       &BudgetAnswer::budget_bytes},
      {"reserved", kBytes, "by the step within the budget", &BudgetAnswer::reserved_bytes},
      {"reserved_without", kBytes, "by the step that recomputes nothing",
       &BudgetAnswer::unlimited_bytes},
      {"overhead", kShare, "of a step that it takes longer", &BudgetAnswer::overhead},
      {"bound", kShare, "no step within the budget takes less extra time", &BudgetAnswer::bound},
      {"gap", kShare, "overhead − bound",
       [](auto& answer) { return answer.overhead() - answer.bound(); }},
      {"recomputed", kCount, "values that are recomputed", &BudgetAnswer::recomputed},
      {"could_recompute", kCount, "values that could be", &BudgetAnswer::candidates},
      {"early_sums", "gradients are summed early",
       [](auto& answer) { return answer.savings && answer.savings->early_sums; }},
      {"rounds", "chains that run in rounds of images",
       [](auto& answer) { return rounds_text(answer.savings); }},
      {"engines", "smaller engines than the rule's, by convolution", &BudgetAnswer::engines},
      {"step_seconds", kSeconds, "of the step that recomputes nothing", &BudgetAnswer::seconds},
      {"seconds_from", "where the seconds of ops are from", &BudgetAnswer::seconds_source},
      {"seconds", kSeconds, "of the search", &BudgetAnswer::planning_seconds}};
}

Rows<BudgetStep> rows(const BudgetStep*) {
  return {{"bytes", kBytes, "of the step, resident ones included", &BudgetStep::bytes},
          {"overhead", kShare, "of a step that it takes longer", &BudgetStep::overhead},
          {"bound", kShare, "no step within these bytes takes less extra time", &BudgetStep::bound},
          {"rounds", "chains that run in rounds of images",
           [](auto& step) { return rounds_text(step.savings); }}};
}

std::string rounds_text(const Savings& savings) {
  return savings ? fmt::format("{}", fmt::join(savings->rounds, ", ")) : "";
}

std::string BudgetAnswer::text() const {
  if (!savings && engines.empty()) {
    return fmt::format("budget {}: the step fits as it is, in {}", format_bytes(budget_bytes),
                       format_bytes(reserved_bytes));
  }
  const std::string early = savings && savings->early_sums ? ", gradients are summed early" : "";
  const std::string chains = rounds_text(savings);
  const std::string rounds = chains.empty() ? "" : fmt::format(", {} in rounds", chains);
  const std::string smaller =
      engines.empty() ? "" : fmt::format(" (smaller engines: {})", engines.size());
  return fmt::format(
      "budget {}: {} of {} values are recomputed{}{}{}; the step fits in {} instead of {} and "
      "takes {} longer, at least {} (seconds {}; planned in {:.2f} s)",
      format_bytes(budget_bytes), recomputed, candidates, rounds, early, smaller,
      format_bytes(reserved_bytes), format_bytes(unlimited_bytes), percent(overhead()),
      percent(bound()), seconds_source, planning_seconds);
}

}  // namespace skyline
