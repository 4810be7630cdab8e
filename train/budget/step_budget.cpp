#include "train/budget/step_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <utility>

#include "framework/ops/math/sum.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/usage_error.h"
#include "train/lab/order/program_graph.h"
#include "train/run/now_seconds.h"

namespace skyline {
namespace {

// A step in another order may need less than its point says; this many cheaper ones are tried.
constexpr std::size_t kCheaperTrials = 8;
std::size_t made_again(const ByteSavings& savings) {
  return static_cast<std::size_t>(std::ranges::count_if(
      savings.recomputed, [](const auto& value) { return value.second != Recomputing::kNever; }));
}

bool sums_more_than_two(const StepGraph& graph) {
  return std::ranges::any_of(graph.ops, [](const StepOp& op) {
    return op.phase == Phase::kBackward && op.name == Sum::kName && op.inputs.size() > 2;
  });
}

}  // namespace

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
      {"engines", "smaller engines than the rule's, by convolution", &BudgetAnswer::engines},
      {"step_seconds", kSeconds, "of the step that recomputes nothing", &BudgetAnswer::seconds},
      {"seconds_from", "where the seconds of ops are from", &BudgetAnswer::seconds_source},
      {"seconds", kSeconds, "of the search", &BudgetAnswer::planning_seconds}};
}

Rows<BudgetStep> rows(const BudgetStep*) {
  return {
      {"bytes", kBytes, "of the step, resident ones included", &BudgetStep::bytes},
      {"overhead", kShare, "of a step that it takes longer", &BudgetStep::overhead},
      {"bound", kShare, "no step within these bytes takes less extra time", &BudgetStep::bound}};
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

StepBudget::StepBudget(BudgetQuestion question) : question_(std::move(question)) {
  const double started = now_seconds();
  const auto facts_of = [](StepTrial trial) {
    DryRunFacts facts = last_batch(std::move(trial.facts));
    facts.step.graph = in_program_sequence(std::move(facts.step.graph), facts.program_numbers);
    return facts;
  };
  StepTrial unlimited = question_.trial({}, {});
  const std::uint64_t unlimited_bytes = unlimited.reserved_bytes;
  const DryRunFacts late = facts_of(std::move(unlimited));
  const std::vector<double> seconds = question_.seconds.of(late.step);
  std::future<std::unique_ptr<BudgetedStep>> sums_early;
  if (sums_more_than_two(late.step.graph)) {
    const auto savings = std::make_shared<const ByteSavings>(ByteSavings{.early_sums = true});
    sums_early = std::async(std::launch::async | std::launch::deferred,
                            [&, early = facts_of(question_.trial(savings, {}))] {
                              return std::make_unique<BudgetedStep>(
                                  early, true, early_sum_seconds(early.step, late.step, seconds),
                                  question_.freedom);
                            });
  }
  steps_.push_back(std::make_unique<BudgetedStep>(late, false, seconds, question_.freedom));
  if (sums_early.valid()) steps_.push_back(sums_early.get());
  add_curve();
  reserved_.resize(curve_.size());
  reserved_.front() = unlimited_bytes;
  search_seconds_ = now_seconds() - started;
}

// Takes the points of all steps of which none takes as few bytes and as few seconds as another.
void StepBudget::add_curve() {
  for (const auto& step : steps_) {
    for (const BudgetPoint& point : step->curve()) {
      const double slower = step->seconds() - steps_.front()->seconds();
      curve_.push_back({step.get(), &point, slower + point.extra_seconds});
    }
  }
  std::ranges::stable_sort(curve_, {}, [](const Point& point) {
    return std::pair(point.extra_seconds, bytes_of(point));
  });
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::erase_if(curve_, [&](const Point& point) {
    return bytes_of(point) >= std::exchange(least, std::min(least, bytes_of(point)));
  });
}

std::uint64_t StepBudget::reserved_bytes(std::size_t point) {
  std::optional<std::uint64_t>& known = reserved_[point];
  if (!known) {
    const auto& [step, tried, seconds] = curve_[point];
    known = question_.trial(step->savings_of(*tried), step->engines_of(*tried)).reserved_bytes;
  }
  return *known;
}

// A larger budget never leads to a later point: the first loop begins no later and stops no later,
// and the second goes on at least as far.
std::optional<std::size_t> StepBudget::point_within(std::uint64_t bytes) {
  if (reserved_bytes(0) <= bytes) return 0;
  const auto may_fit = [&](const Point& point) { return bytes_of(point) <= bytes; };
  auto point = static_cast<std::size_t>(std::ranges::find_if(curve_, may_fit) - curve_.begin());
  while (point < curve_.size() && reserved_bytes(point) > bytes) ++point;
  if (point == curve_.size()) {
    // Another order may still make the last points fit.
    if (reserved_bytes(point - 1) > bytes) return {};
    --point;
  }
  for (std::size_t k = 0; k < kCheaperTrials && point > 1; ++k, --point) {
    if (reserved_bytes(point - 1) > bytes) break;
  }
  return point;
}

BudgetAnswer StepBudget::within(std::uint64_t bytes) {
  const double started = now_seconds();
  const std::optional<std::size_t> point = point_within(bytes);
  if (!point) throw UsageError(why_too_small(bytes));
  BudgetAnswer found = answer(*point, bytes);
  found.bound_seconds = bound_within(bytes, found.extra_seconds);
  found.planning_seconds = search_seconds_ + now_seconds() - started;
  return found;
}

BudgetAnswer StepBudget::at_most_longer(double share) {
  std::size_t point = 0;
  while (point + 1 < curve_.size() &&
         curve_[point + 1].extra_seconds <= share * steps_.front()->seconds())
    ++point;
  BudgetAnswer found = answer(point, reserved_bytes(point));
  found.bound_seconds = bound_within(found.reserved_bytes, found.extra_seconds);
  return found;
}

BudgetAnswer StepBudget::answer(std::size_t point, std::uint64_t budget_bytes) {
  const auto& [step, found, extra_seconds] = curve_[point];
  const Savings savings = step->savings_of(*found);
  return {.budget_bytes = budget_bytes,
          .reserved_bytes = reserved_bytes(point),
          .unlimited_bytes = reserved_bytes(0),
          .seconds = steps_.front()->seconds(),
          .extra_seconds = extra_seconds,
          .recomputed = savings ? made_again(*savings) : 0,
          .candidates = step->candidates(),
          .savings = savings,
          .engines = step->engines_of(*found),
          .seconds_source = question_.seconds.source};
}

// A step sums either late or early.
double StepBudget::bound_within(std::uint64_t bytes, double found) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& step : steps_) {
    const double slower = step->seconds() - steps_.front()->seconds();
    least = std::min(least, slower + step->bound_within(bytes, std::min(found, least) - slower));
  }
  return least;
}

std::vector<BudgetStep> StepBudget::curve(std::size_t points) {
  std::vector<BudgetStep> steps;
  const std::uint64_t most = bytes_of(curve_.front()), least = bytes_of(curve_.back());
  std::size_t k = 0;
  double bound = 0;  // a bound of more bytes holds for fewer, too
  for (std::size_t shown = 0; shown < points; ++shown) {
    const std::uint64_t limit =
        most - (most - least) * shown / std::max<std::size_t>(points - 1, 1);
    const std::size_t last = k;
    while (bytes_of(curve_[k]) > limit) ++k;
    if (shown > 0 && k == last) continue;
    const auto& [step, point, extra_seconds] = curve_[k];
    bound = std::max(bound, bound_within(bytes_of(curve_[k]), extra_seconds));
    steps.push_back({.bytes = bytes_of(curve_[k]),
                     .overhead = extra_seconds / steps_.front()->seconds(),
                     .bound = bound / steps_.front()->seconds(),
                     .savings = step->savings_of(*point),
                     .engines = step->engines_of(*point)});
  }
  return steps;
}

// The bytes that are proved to be missing or, if the proof does not reach so far, the least that
// was found.
std::string StepBudget::why_too_small(std::uint64_t bytes) {
  BudgetedStep& least =
      **std::ranges::min_element(steps_, {}, [](const auto& step) { return step->least_bytes(); });
  const std::uint64_t proved = least.least_bytes();
  std::uint64_t found = reserved_bytes(0);
  for (const std::optional<std::uint64_t>& reserved : reserved_) {
    if (reserved) found = std::min(found, *reserved);
  }
  const std::string missing =
      proved > bytes
          ? fmt::format("{} are missing, whatever is made again", format_bytes(proved - bytes))
          : fmt::format("{} are missing to the least that was found", format_bytes(found - bytes));
  const bool may_fit = least.has_engines() && !question_.freedom.fits_engines;
  return fmt::format("--memory: {} do not suffice for the step: {}. {}{}", format_bytes(bytes),
                     missing, least.why_least(),
                     may_fit ? ". --engines fitting takes smaller workspaces" : "");
}

}  // namespace skyline
