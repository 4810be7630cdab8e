#include "train/decide/divided_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "framework/ops/normalization/batch_norm.h"
#include "train/cli/byte_sizes.h"
#include "train/decide/step_budget.h"

namespace skyline {
namespace {

// More parts leave batches of a few images, which take long.
constexpr std::int64_t kMostParts = 32;

double seconds_of(const StepTrial& trial, const BudgetQuestion& question) {
  const std::vector<double> seconds = question.seconds.of(trial.facts.step);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

std::string text_of(const DividedStep& step) {
  const std::string again = step.recomputed == 0
                                ? ""
                                : fmt::format(", with {} value{} recomputed", step.recomputed,
                                              step.recomputed == 1 ? "" : "s");
  return fmt::format("--batch-size {} --micro-batches {} fits in {} and takes {} longer{}",
                     step.batch_size, step.micro_batches, format_bytes(step.reserved_bytes),
                     percent(step.overhead), again);
}

}  // namespace

Rows<DividedStep> rows(const DividedStep*) {
  return {
      {"batch_size", kCount, "images or sentences of a batch", &DividedStep::batch_size},
      {"micro_batches", kCount, "batches of the step", &DividedStep::micro_batches},
      {"reserved", kBytes, "by the step, resident ones included", &DividedStep::reserved_bytes},
      {"step_seconds", kSeconds, "of the step, by the model of the device", &DividedStep::seconds},
      {"overhead", kShare, "of the undivided step that it takes longer", &DividedStep::overhead}};
}

std::vector<DividedStep> divided_steps(const BudgetQuestion& question,
                                       std::optional<std::uint64_t> bytes) {
  const BatchDivision& whole = *question.division;
  std::vector<DividedStep> steps;
  if (whole.fused_update) return steps;
  std::optional<double> undivided;
  std::int64_t last = 1;
  for (std::int64_t parts = 2; parts <= std::min(whole.batch_size, kMostParts); ++parts) {
    if (whole.batch_size % parts != 0 || parts < 2 * last) continue;
    last = parts;
    const BudgetQuestion divided = whole.step(parts);
    if (!undivided) undivided = seconds_of(question.trial({}, {}), divided);
    const StepTrial trial = divided.trial({}, {});
    DividedStep step{.batch_size = whole.batch_size / parts,
                     .micro_batches = whole.micro_batches * parts,
                     .reserved_bytes = trial.reserved_bytes,
                     .seconds = seconds_of(trial, divided)};
    const bool fits = !bytes || step.reserved_bytes <= *bytes;
    if (!fits) {
      const std::optional<BudgetAnswer> found = StepBudget(divided).found_within(*bytes);
      if (!found) continue;
      step.reserved_bytes = found->reserved_bytes;
      step.recomputed = found->recomputed;
      step.seconds += static_cast<double>(step.micro_batches) * found->extra_seconds;
    }
    step.overhead = step.seconds / *undivided - 1;
    steps.push_back(step);
    if (bytes && fits) break;
  }
  return steps;
}

bool normalizes_batches(const BudgetQuestion& question) {
  return std::ranges::any_of(question.trial({}, {}).facts.step.graph.ops,
                             [](const StepOp& op) { return op.name == kBatchNorm; });
}

std::string smaller_batches_text(const BudgetQuestion& question, std::uint64_t bytes) {
  if (!question.division || question.division->batch_size == 1) return {};
  if (question.division->fused_update) {
    return ". Smaller batches could fit without --fused-update, which excludes --micro-batches";
  }
  const std::vector<DividedStep> steps = divided_steps(question, bytes);
  if (steps.empty())
    return fmt::format(". No smaller batches fit, with up to {} times as many --micro-batches",
                       kMostParts);
  std::vector<std::string> texts;
  std::ranges::transform(steps, std::back_inserter(texts), text_of);
  std::string text = fmt::format(". {}", fmt::join(texts, "; "));
  if (normalizes_batches(question)) {
    text +=
        ", but batch normalization then takes its statistics from fewer images, which trains "
        "another network";
  }
  return text;
}

}  // namespace skyline
