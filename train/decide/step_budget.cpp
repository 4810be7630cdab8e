#include "train/decide/step_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include "framework/ops/math/arithmetic.h"
#include "framework/ops/normalization/batch_norm.h"
#include "memory/alignment.h"
#include "memory/budget/op_region.h"
#include "memory/now_seconds.h"
#include "memory/solvers/chain_bound.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/usage_error.h"
#include "train/decide/program_graph.h"

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

// Marks values that are kept or that ops read as the program holds them: a copy would not do.
std::vector<char> held_by_program(const BudgetProblem& problem) {
  std::vector<char> held(problem.graph.values.size());
  for (const StepValue& value : problem.graph.values) held[value.storage] |= value.kept;
  for (OpId op = problem.backward; op < problem.graph.ops.size(); ++op) {
    const StepOp& reader = problem.graph.ops[op];
    if (op > problem.backward && reader.phase == Phase::kBackward) continue;
    for (const ValueId input : reader.inputs) held[problem.graph.values[input].storage] = true;
  }
  return held;
}

Recompute recompute_of(const RecordedRecomputation& recorded, const BudgetProblem& problem,
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

// A step in another order may need less than its point says; this many cheaper ones are tried.
constexpr std::size_t kCheaperTrials = 8;
std::size_t made_again(const ByteSavings& savings) {
  return static_cast<std::size_t>(std::ranges::count_if(
      savings.recomputed, [](const auto& value) { return value.second != Recomputing::kNever; }));
}

// True if backward takes fewer passes than with early sums.
bool sums_late(const StepGraph& graph) {
  return std::ranges::any_of(graph.ops, [](const StepOp& op) {
    return op.phase == Phase::kBackward &&
           ((op.name == Sum::kName && op.inputs.size() > 2) || op.name == kBatchNormGradOfSum);
  });
}

// Returns the ways to save bytes of a step without recomputing a value; the first saves none, the
// last one all. The first chains have the largest values, so rounds begin with them.
std::vector<ByteSavings> savings_of(const RecordedStep& step) {
  std::vector<ByteSavings> all;
  for (const bool early_sums : {false, true}) {
    if (early_sums && !sums_late(step.graph)) break;
    ByteSavings savings{.early_sums = early_sums};
    all.push_back(savings);
    for (const std::string& chain : step.chains) {
      savings.rounds.insert(chain);
      all.push_back(savings);
    }
  }
  return all;
}

using ChainOfOp = std::map<std::pair<std::string, std::string>, std::uint32_t>;

// Returns the number of each op's chain. An op of a chain in rounds belongs to the layer of its
// last link.
ChainOfOp chain_of_op(const StepGraph& all_in_rounds) {
  ChainOfOp chains;
  std::map<std::string, std::uint32_t> of_layer;
  for (const StepOp& op : all_in_rounds.ops) {
    if (!op.rounds) continue;
    const auto number = static_cast<std::uint32_t>(of_layer.size());
    const std::uint32_t chain = of_layer.try_emplace(op.layer, number).first->second;
    for (const OpRounds::Call& call : op.rounds->calls) chains[{call.name, call.layer}] = chain;
  }
  return chains;
}

// Returns groups of the ops of each chain from `first` on, for in_any_rounds(); empty without one.
std::vector<std::uint32_t> groups_of(const StepGraph& graph, const ChainOfOp& chains,
                                     std::size_t first) {
  std::vector<std::uint32_t> groups(graph.ops.size(), kNoGroup);
  bool any = false;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const auto chain = chains.find({graph.ops[op].name, graph.ops[op].layer});
    if (chain == chains.end() || chain->second < first) continue;
    groups[op] = chain->second;
    any = true;
  }
  return any ? groups : std::vector<std::uint32_t>();
}

// Returns the last batch of a trial's step with its ops in the program's sequence.
DryRunFacts as_written(StepTrial trial) {
  DryRunFacts facts = last_batch(std::move(trial.facts));
  facts.step.graph = in_program_sequence(std::move(facts.step.graph), facts.program_numbers);
  return facts;
}

}  // namespace

BudgetedStep::BudgetedStep(const DryRunFacts& facts, ByteSavings saved, std::vector<double> seconds,
                           const BudgetFreedom& freedom, const std::vector<std::uint32_t>& groups)
    : saved_(std::move(saved)),
      has_engines_(std::ranges::any_of(
          facts.step.engines, [](const auto& use) { return !use.second.smaller.empty(); })),
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
  if (!groups.empty()) problem_ = in_any_rounds(std::move(problem_), groups);
  bound_.emplace(problem_);
}

void BudgetedStep::add_recomputes(const RecordedStep& recorded, const BudgetFreedom& freedom) {
  problem_.backward = first_of_backward(problem_.graph);
  const std::vector<char> held = held_by_program(problem_);
  for (const RecordedRecomputation& recompute : recorded.recomputations) {
    const StepValue& value = problem_.graph.values[recompute.value];
    if (held[value.storage] || value.resident) continue;
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
  ByteSavings savings = saved_;
  bool any = saved_ != ByteSavings();
  for (const ValueName& name : names_) savings.recomputed[name] = Recomputing::kNever;
  for (const RecomputedOp& op : sequence.ops()) {
    if (!op.is_recompute) continue;
    any = true;
    const bool each = point.choice[op.index] == Recompute::kEach;
    savings.recomputed[names_[op.index]] = each ? Recomputing::kEach : Recomputing::kOnce;
  }
  return any ? std::make_shared<const ByteSavings>(std::move(savings)) : nullptr;
}

double BudgetedStep::bound_within(std::uint64_t bytes, double enough) {
  return ChainBound(problem_, *bound_)
      .extra_seconds(bytes - std::min(bytes, resident_bytes_), enough);
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

StepBudget::StepBudget(BudgetQuestion question) : question_(std::move(question)) {
  const double started = now_seconds();
  StepTrial unlimited = question_.trial({}, {});
  reserved_.push_back(unlimited.reserved_bytes);
  const DryRunFacts& whole = facts_[{}] = as_written(std::move(unlimited));
  seconds_ = question_.seconds.of(whole.step);
  const std::vector<ByteSavings> all = savings_of(whole.step);
  std::vector<std::future<void>> searches;
  for (const ByteSavings& saved : all) {
    facts_of(saved);
    steps_.push_back(step_with(saved, whole.step.chains.size()));
    searches.push_back(
        std::async(std::launch::async | std::launch::deferred,
                   [step = steps_.back(), searches = all.size()] { step->search(searches); }));
  }
  chain_of_op_ = chain_of_op(facts_of(all.back()).step.graph);
  for (std::future<void>& search : searches) search.get();
  add_curve();
  reserved_.resize(curve_.size());
  bound_.emplace(whole.step.chains, all.back().early_sums,
                 [this](const auto& saved, std::size_t first) { return step_with(saved, first); });
  search_seconds_ = now_seconds() - started;
}

const DryRunFacts& StepBudget::facts_of(const ByteSavings& saved) {
  const std::pair key(saved.early_sums, saved.rounds);
  const auto known = facts_.find(key);
  if (known != facts_.end()) return known->second;
  return facts_[key] = as_written(question_.trial(std::make_shared<const ByteSavings>(saved), {}));
}

// Relaxed for the chains from `first_open` on.
std::shared_ptr<BudgetedStep> StepBudget::step_with(const ByteSavings& saved,
                                                    std::size_t first_open) {
  const DryRunFacts &whole = facts_.at({}), &facts = facts_of(saved);
  if (first_open == whole.step.chains.size()) {
    const auto known =
        std::ranges::find(steps_, saved, [](const auto& step) { return step->saved(); });
    if (known != steps_.end()) return *known;
  }
  return std::make_shared<BudgetedStep>(
      facts, saved,
      saved == ByteSavings() ? seconds_ : saving_seconds(facts.step, whole.step, seconds_),
      question_.freedom, groups_of(facts.step.graph, chain_of_op_, first_open));
}

// Takes the step that saves nothing, and the points of all steps of which none takes as few bytes
// and as few seconds as another.
void StepBudget::add_curve() {
  for (const auto& step : steps_) {
    for (const BudgetPoint& point : step->curve()) {
      const double slower = step->seconds() - steps_.front()->seconds();
      curve_.push_back({step.get(), &point, slower + point.extra_seconds});
    }
  }
  const Point all{steps_.front().get(), &steps_.front()->curve().front(), 0};
  keep_best(curve_, &Point::extra_seconds, bytes_of, bytes_of(all));
  curve_.insert(curve_.begin(), all);
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
  std::optional<BudgetAnswer> found = found_within(bytes);
  if (!found) throw UsageError(why_too_small(bytes) + smaller_batches_text(question_, bytes));
  found->bound_seconds = bound_within(bytes, found->extra_seconds);
  found->planning_seconds = search_seconds_ + now_seconds() - started;
  return *std::move(found);
}

std::optional<BudgetAnswer> StepBudget::found_within(std::uint64_t bytes) {
  const std::optional<std::size_t> point = point_within(bytes);
  return point ? std::optional(answer(*point, bytes)) : std::nullopt;
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
          .least_bytes = bytes_of(curve_.back()),
          .seconds = steps_.front()->seconds(),
          .extra_seconds = extra_seconds,
          .recomputed = savings ? made_again(*savings) : 0,
          .candidates = step->candidates(),
          .savings = savings,
          .engines = step->engines_of(*found),
          .seconds_source = question_.seconds.source};
}

std::vector<DividedStep> StepBudget::divided() const {
  if (!question_.division || normalizes_batches(question_)) return {};
  return divided_steps(question_, {});
}

double StepBudget::bound_within(std::uint64_t bytes, double found) {
  const double whole = steps_.front()->seconds();
  return bound_->seconds_within(bytes, whole + found - kNear * whole) - whole;
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
  BudgetedStep& least = bound_->least();
  const std::uint64_t proved = least.least_bytes();
  std::uint64_t found = reserved_bytes(0);
  for (const std::optional<std::uint64_t>& reserved : reserved_) {
    if (reserved) found = std::min(found, *reserved);
  }
  const std::string missing =
      proved > bytes
          ? fmt::format("{} are missing, whatever is recomputed", format_bytes(proved - bytes))
          : fmt::format("{} are missing to the least that was found", format_bytes(found - bytes));
  const bool may_fit = least.has_engines() && !question_.freedom.fits_engines;
  return fmt::format("--memory: {} do not suffice for the step: {}. {}{}", format_bytes(bytes),
                     missing, least.why_least(),
                     may_fit ? ". --engines fitting takes smaller workspaces" : "");
}

}  // namespace skyline
