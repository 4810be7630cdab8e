#include "train/budget/budgeted_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>

#include "memory/alignment.h"
#include "memory/solvers/chain_bound.h"
#include "train/budget/device_speed.h"
#include "train/cli/byte_sizes.h"
#include "train/lab/order/program_graph.h"

namespace skyline {
namespace {

constexpr std::size_t kNamedValues = 5;
// A bound this share of a step below what was found is near.
constexpr double kNear = 0.01;

// The first op of backward. It overwrites the loss with its gradient.
OpId first_of_backward(const StepGraph& graph) {
  const auto first = std::ranges::find(graph.ops, Phase::kBackward, &StepOp::phase);
  return static_cast<OpId>(first - graph.ops.begin());
}

// Marks values that ops read as the program holds them: a recomputed copy would not do.
std::vector<char> held_by_program(const BudgetProblem& problem) {
  std::vector<char> held(problem.graph.values.size());
  for (OpId op = problem.backward; op < problem.graph.ops.size(); ++op) {
    const StepOp& reader = problem.graph.ops[op];
    if (op > problem.backward && reader.phase == Phase::kBackward) continue;
    for (const ValueId input : reader.inputs) held[problem.graph.values[input].storage] = true;
  }
  return held;
}

Recompute recompute_of(const RecordedRemake& recorded, const BudgetProblem& problem,
                       bool in_place) {
  const StepGraph& graph = problem.graph;
  const auto bytes = [&](ValueId value) { return graph.values[graph.values[value].storage].bytes; };
  Recompute recompute{.value = recorded.value,
                      .inputs = recorded.inputs,
                      .workspace_bytes = align_up(recorded.workspace_bytes, kAlignmentBytes),
                      .seconds = recorded.share * problem.seconds[recorded.op]};
  for (const InPlacePair& pair : recorded.in_place) {
    const ValueId input = recorded.inputs[static_cast<std::size_t>(pair.input)];
    if (in_place && bytes(input) == bytes(recorded.value)) recompute.in_place.push_back(pair);
  }
  return recompute;
}

}  // namespace

BudgetedStep::BudgetedStep(const DryRunFacts& facts, bool early_sums, std::vector<double> seconds,
                           const BudgetFreedom& freedom)
    : early_sums_(early_sums),
      has_engines_(!facts.step.engines.empty()),
      seconds_(std::accumulate(seconds.begin(), seconds.end(), 0.0)),
      resident_bytes_(facts.resident_bytes) {
  problem_.graph = program_graph(facts.step.graph, freedom.in_place, resident_bytes_);
  problem_.seconds = std::move(seconds);
  problem_.recomputes_each = true;
  if (freedom.fits_engines) {
    for (const auto& [op, use] : facts.step.engines) {
      add_engine(use, {facts.program_numbers[op], false});
    }
  }
  add_recomputes(facts.step, freedom);
  bound_.emplace(problem_);
  curve_ = budget_curve(problem_, *bound_);
}

void BudgetedStep::add_recomputes(const RecordedStep& recorded, const BudgetFreedom& freedom) {
  problem_.backward = first_of_backward(problem_.graph);
  const std::vector<char> held = held_by_program(problem_);
  for (const RecordedRemake& recompute : recorded.remakes) {
    const StepValue& value = problem_.graph.values[recompute.value];
    if (held[value.storage] || value.resident || value.kept) continue;
    problem_.recomputes.push_back(recompute_of(recompute, problem_, freedom.in_place));
    names_.push_back(recompute.name);
    if (!freedom.fits_engines || !recompute.engine) continue;
    add_engine(*recompute.engine,
               {static_cast<std::uint32_t>(problem_.recomputes.size() - 1), true});
  }
}

// Ops whose workspace becomes no smaller by whole units stay as they are.
void BudgetedStep::add_engine(const EngineUse& use, const RecomputedOp& op) {
  const std::uint64_t own = op.is_recompute ? problem_.recomputes[op.index].workspace_bytes
                                            : problem_.graph.ops[op.index].workspace_bytes;
  const std::uint64_t smaller = align_up(use.smaller_workspace_bytes, kAlignmentBytes);
  if (smaller >= own) return;
  auto k = static_cast<std::size_t>(std::ranges::find(engines_, use.problem, &EngineUse::problem) -
                                    engines_.begin());
  if (k == engines_.size()) {
    engines_.push_back(use);
    problem_.engines.emplace_back();
  }
  const double seconds =
      op.is_recompute ? problem_.recomputes[op.index].seconds : problem_.seconds[op.index];
  problem_.engines[k].uses.push_back(
      {.op = op, .workspace_bytes = smaller, .extra_seconds = seconds * extra_share(use)});
}

EngineNames BudgetedStep::engines_of(const BudgetPoint& point) const {
  EngineNames names;
  for (std::size_t k = 0; k < point.smaller.size(); ++k) {
    if (point.smaller[k]) names[engines_[k].problem] = engines_[k].smaller;
  }
  return names;
}

// Recomputes that nothing reads would only keep their inputs alive.
Savings BudgetedStep::savings_of(const BudgetPoint& point) const {
  RecomputeSequence sequence(problem_);
  sequence.find(point.choice);
  ByteSavings savings{.early_sums = early_sums_};
  bool any = early_sums_;
  for (const ValueName& name : names_) savings.recomputed[name] = Recomputing::kNever;
  for (const RecomputedOp& op : sequence.ops()) {
    if (!op.is_recompute) continue;
    any = true;
    const bool each = point.choice[op.index] == Recompute::kEach;
    savings.recomputed[names_[op.index]] = each ? Recomputing::kEach : Recomputing::kOnce;
  }
  return any ? std::make_shared<const ByteSavings>(std::move(savings)) : nullptr;
}

double BudgetedStep::bound_within(std::uint64_t bytes, double found) {
  return ChainBound(problem_, *bound_)
      .extra_seconds(bytes - std::min(bytes, resident_bytes_), found - kNear * seconds_);
}

std::string BudgetedStep::why_least() {
  const BudgetBound::Least least = bound_->least();
  const StepOp& op = problem_.graph.ops[least.op];
  const std::string name = op_of_layer(op.name, op.layer);
  const std::string moment =
      least.last_input ? "the last input of " + name + " is made" : name + " runs";
  return fmt::format("It needs {} for resident values and, when {}, {}: {}",
                     format_bytes(resident_bytes_), moment, format_bytes(least.bytes),
                     largest_text(least));
}

// "workspace (30 MiB), activation of conv1 (12 MiB), gradient of conv1 (12 MiB), 3 more".
std::string BudgetedStep::largest_text(const BudgetBound::Least& least) const {
  std::vector<ValueId> values = least.values;
  const std::vector<StepValue>& all = problem_.graph.values;
  std::ranges::stable_sort(values, std::ranges::greater(),
                           [&](ValueId value) { return all[value].bytes; });
  std::vector<std::string> texts;
  if (least.workspace_bytes > 0) {
    texts.push_back(fmt::format("workspace ({})", format_bytes(least.workspace_bytes)));
  }
  for (const ValueId value : values | std::views::take(kNamedValues)) {
    texts.push_back(fmt::format("{} of {} ({})", category_name(all[value].category),
                                all[value].layer, format_bytes(all[value].bytes)));
  }
  if (values.size() > kNamedValues) {
    texts.push_back(fmt::format("{} more", values.size() - kNamedValues));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace skyline
