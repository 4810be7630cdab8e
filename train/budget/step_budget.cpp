#include "train/budget/step_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>
#include <utility>

#include "memory/alignment.h"
#include "train/budget/device_speed.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/usage_error.h"
#include "train/lab/order/program_graph.h"
#include "train/run/now_seconds.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// A step in another order may need less than its point says; this many cheaper ones are tried.
constexpr std::size_t kCheaperTrials = 8;
constexpr std::size_t kNamedValues = 5;

// The first op of backward. It overwrites the loss with its gradient.
OpId first_of_backward(const StepGraph& graph) {
  const auto first = std::ranges::find(graph.ops, Phase::kBackward, &StepOp::phase);
  return static_cast<OpId>(first - graph.ops.begin());
}

// Marks values that ops read as the program holds them: a remade copy would not do.
std::vector<char> held_by_program(const BudgetProblem& problem) {
  std::vector<char> held(problem.graph.values.size());
  for (OpId op = problem.backward; op < problem.graph.ops.size(); ++op) {
    const StepOp& reader = problem.graph.ops[op];
    if (op > problem.backward && reader.phase == Phase::kBackward) continue;
    for (const ValueId input : reader.inputs) held[problem.graph.values[input].storage] = true;
  }
  return held;
}

Remake remake_of(const RecordedRemake& recorded, const BudgetProblem& problem, bool in_place) {
  const StepGraph& graph = problem.graph;
  const auto bytes = [&](ValueId value) { return graph.values[graph.values[value].storage].bytes; };
  Remake remake{.value = recorded.value,
                .inputs = recorded.inputs,
                .workspace_bytes = align_up(recorded.workspace_bytes, kAlignmentBytes),
                .seconds = problem.seconds[recorded.op]};
  for (const InPlacePair& pair : recorded.in_place) {
    const ValueId input = recorded.inputs[static_cast<std::size_t>(pair.input)];
    if (in_place && bytes(input) == bytes(recorded.value)) remake.in_place.push_back(pair);
  }
  return remake;
}

std::size_t made_again(const std::map<ValueName, Recomputing>& ops) {
  return static_cast<std::size_t>(
      std::ranges::count_if(ops, [](const auto& op) { return op.second != Recomputing::kNever; }));
}

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
          {"engines", engines},
          {"step_seconds", seconds},
          {"seconds_from", seconds_source},
          {"seconds", planning_seconds}};
}

std::string BudgetAnswer::text() const {
  if (recomputed == 0 && engines.empty()) {
    return fmt::format("budget {}: the step fits as it is, in {}", format_bytes(budget_bytes),
                       format_bytes(reserved_bytes));
  }
  const std::string smaller =
      engines.empty() ? "" : fmt::format(" (smaller engines: {})", engines.size());
  return fmt::format(
      "budget {}: {} of {} values are made again{}; the step fits in {} instead of {} and takes {} "
      "longer, at least {} (seconds {}; planned in {:.2f} s)",
      format_bytes(budget_bytes), recomputed, candidates, smaller, format_bytes(reserved_bytes),
      format_bytes(unlimited_bytes), percent(overhead()), percent(bound()), seconds_source,
      planning_seconds);
}

StepBudget::StepBudget(BudgetQuestion question) : question_(std::move(question)) {
  const double started = now_seconds();
  StepTrial unlimited = question_.trial({}, {});
  unlimited.facts = last_batch(std::move(unlimited.facts));
  RecordedStep& step = unlimited.facts.step;
  step.graph = in_program_sequence(std::move(step.graph), unlimited.facts.program_numbers);
  resident_bytes_ = unlimited.facts.resident_bytes;
  problem_.seconds = question_.seconds.of(step);
  seconds_ = std::accumulate(problem_.seconds.begin(), problem_.seconds.end(), 0.0);
  problem_.graph = program_graph(step.graph, question_.in_place, resident_bytes_);
  problem_.makes_each = true;
  could_fit_engines_ = !step.engines.empty();
  if (question_.fits_engines) {
    for (const auto& [op, use] : step.engines) {
      add_engine(use, {unlimited.facts.program_numbers[op], false});
    }
  }
  add_remakes(step);
  bound_.emplace(problem_);
  curve_ = budget_curve(problem_, *bound_);
  reserved_.resize(curve_.size());
  reserved_.front() = unlimited.reserved_bytes;
  search_seconds_ = now_seconds() - started;
}

void StepBudget::add_remakes(const RecordedStep& recorded) {
  problem_.backward = first_of_backward(problem_.graph);
  const std::vector<char> held = held_by_program(problem_);
  for (const RecordedRemake& remake : recorded.remakes) {
    const StepValue& value = problem_.graph.values[remake.value];
    if (held[value.storage] || value.resident || value.kept) continue;
    problem_.remakes.push_back(remake_of(remake, problem_, question_.in_place));
    names_.push_back(remake.name);
    if (!question_.fits_engines || !remake.engine) continue;
    add_engine(*remake.engine, {static_cast<std::uint32_t>(problem_.remakes.size() - 1), true});
  }
}

// Ops whose workspace becomes no smaller by whole units stay as they are.
void StepBudget::add_engine(const EngineUse& use, const RemadeOp& op) {
  const std::uint64_t own = op.is_remake ? problem_.remakes[op.index].workspace_bytes
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
      op.is_remake ? problem_.remakes[op.index].seconds : problem_.seconds[op.index];
  problem_.engines[k].uses.push_back(
      {.op = op, .workspace_bytes = smaller, .extra_seconds = seconds * extra_share(use)});
}

EngineNames StepBudget::engines_of(const BudgetPoint& point) const {
  EngineNames names;
  for (std::size_t k = 0; k < point.smaller.size(); ++k) {
    if (point.smaller[k]) names[engines_[k].problem] = engines_[k].smaller;
  }
  return names;
}

// Remakes that nothing reads would only keep their inputs alive.
RecomputedOps StepBudget::ops_of(const RemakeChoice& choice) const {
  RemadeSequence sequence(problem_);
  sequence.find(choice);
  std::map<ValueName, Recomputing> ops;
  for (const ValueName& name : names_) ops[name] = Recomputing::kNever;
  for (const RemadeOp& op : sequence.ops()) {
    if (!op.is_remake) continue;
    const bool each = choice[op.index] == Remake::kEach;
    ops[names_[op.index]] = each ? Recomputing::kEach : Recomputing::kOnce;
  }
  if (made_again(ops) == 0) return nullptr;
  return std::make_shared<const std::map<ValueName, Recomputing>>(std::move(ops));
}

std::uint64_t StepBudget::reserved_bytes(std::size_t point) {
  std::optional<std::uint64_t>& known = reserved_[point];
  if (!known) {
    const BudgetPoint& tried = curve_[point];
    known = question_.trial(ops_of(tried.choice), engines_of(tried)).reserved_bytes;
  }
  return *known;
}

// A larger budget never leads to a later point: the first loop begins no later and stops no later,
// and the second goes on at least as far.
std::optional<std::size_t> StepBudget::point_within(std::uint64_t bytes) {
  if (reserved_bytes(0) <= bytes) return 0;
  const auto may_fit = [&](const BudgetPoint& point) {
    return resident_bytes_ + point.peak <= bytes;
  };
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
  found.bound_seconds = bound_within(bytes);
  found.planning_seconds = search_seconds_ + now_seconds() - started;
  return found;
}

BudgetAnswer StepBudget::at_most_longer(double share) {
  std::size_t point = 0;
  while (point + 1 < curve_.size() && curve_[point + 1].extra_seconds <= share * seconds_) ++point;
  BudgetAnswer found = answer(point, reserved_bytes(point));
  found.bound_seconds = bound_within(found.reserved_bytes);
  return found;
}

BudgetAnswer StepBudget::answer(std::size_t point, std::uint64_t budget_bytes) {
  const RecomputedOps ops = ops_of(curve_[point].choice);
  return {.budget_bytes = budget_bytes,
          .reserved_bytes = reserved_bytes(point),
          .unlimited_bytes = reserved_bytes(0),
          .seconds = seconds_,
          .extra_seconds = curve_[point].extra_seconds,
          .recomputed = ops ? made_again(*ops) : 0,
          .candidates = problem_.remakes.size(),
          .ops = ops,
          .engines = engines_of(curve_[point]),
          .seconds_source = question_.seconds.source};
}

// The bound counts bytes alive, so it holds for every order and every placement.
double StepBudget::bound_within(std::uint64_t bytes) {
  return bound_->extra_seconds(bytes - std::min(bytes, resident_bytes_));
}

std::vector<BudgetStep> StepBudget::curve(std::size_t points) {
  std::vector<BudgetStep> steps;
  const std::uint64_t most = curve_.front().peak, least = curve_.back().peak;
  const BudgetPoint* last = nullptr;
  for (std::size_t k = 0; k < points; ++k) {
    const std::uint64_t peak = most - (most - least) * k / std::max<std::size_t>(points - 1, 1);
    const BudgetPoint* point = skyline::point_within(curve_, peak);
    if (point == std::exchange(last, point)) continue;
    steps.push_back({.bytes = resident_bytes_ + point->peak,
                     .overhead = point->extra_seconds / seconds_,
                     .bound = bound_within(resident_bytes_ + point->peak) / seconds_,
                     .ops = ops_of(point->choice),
                     .engines = engines_of(*point)});
  }
  return steps;
}

// The bytes that are proved to be missing or, if the proof does not reach so far, the least that
// was found.
std::string StepBudget::why_too_small(std::uint64_t bytes) {
  const BudgetBound::Least least = bound_->least();
  const std::uint64_t proved = resident_bytes_ + least.bytes;
  std::uint64_t found = reserved_bytes(0);
  for (const std::optional<std::uint64_t>& reserved : reserved_) {
    if (reserved) found = std::min(found, *reserved);
  }
  const std::string missing =
      proved > bytes
          ? fmt::format("{} are missing, whatever is made again", format_bytes(proved - bytes))
          : fmt::format("{} are missing to the least that was found", format_bytes(found - bytes));
  const bool may_fit = could_fit_engines_ && !question_.fits_engines;
  return fmt::format(
      "--memory: {} do not suffice for the step: {}. It needs {} for resident values and, "
      "when {} runs, {}: {}{}",
      format_bytes(bytes), missing, format_bytes(resident_bytes_),
      op_of_layer(problem_.graph.ops[least.op].name, problem_.graph.ops[least.op].layer),
      format_bytes(least.bytes), largest_text(least),
      may_fit ? ". --engines fitting takes smaller workspaces" : "");
}

// "workspace (30 MiB), activation of conv1 (12 MiB), gradient of conv1 (12 MiB), 3 more".
std::string StepBudget::largest_text(const BudgetBound::Least& least) const {
  std::vector<ValueId> values = least.values;
  const std::vector<StepValue>& all = problem_.graph.values;
  std::uint64_t workspace = problem_.graph.ops[least.op].workspace_bytes;
  for (const SmallerEngine& engine : problem_.engines) {
    for (const SmallerEngine::Use& use : engine.uses) {
      const bool is_least = !use.op.is_remake && use.op.index == least.op;
      if (is_least) workspace = use.workspace_bytes;
    }
  }
  std::ranges::stable_sort(values, std::ranges::greater(),
                           [&](ValueId value) { return all[value].bytes; });
  std::vector<std::string> texts;
  if (workspace > 0) texts.push_back(fmt::format("workspace ({})", format_bytes(workspace)));
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
