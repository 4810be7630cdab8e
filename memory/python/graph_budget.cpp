#include "memory/python/graph_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "memory/budget/budget_checker.h"
#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::size_t kMostSteps = 64;
constexpr double kNear = 0.95;  // a bound that is this share of what was found is near enough

double sum_of(const std::vector<double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

// An op by its number in the whole graph, the recompute of value v as -1 - v.
std::vector<std::int64_t> sequence_of(const ProblemInRounds& step, const RecomputeChoice& choice) {
  RecomputeSequence sequence(step.problem);
  sequence.find(choice);
  std::vector<std::int64_t> ops;
  for (const RecomputedOp& op : sequence.ops()) {
    ops.push_back(op.is_recompute ? -1 - std::int64_t{step.problem.recomputes[op.index].value}
                                  : std::int64_t{step.ops[op.index]});
  }
  return ops;
}

}  // namespace

GraphBudget::GraphBudget(StepGraph graph, std::vector<double> seconds, OpId backward,
                         const std::optional<RecomputeRows>& rows, const RegionRows& regions,
                         std::stop_source stop)
    : problem_{.graph = std::move(graph),
               .seconds = std::move(seconds),
               .backward = backward,
               .recomputes_each = true,
               .recomputes_later = true},
      stop_(std::move(stop)) {
  const std::size_t ops = problem_.graph.ops.size();
  if (problem_.seconds.size() != ops) {
    throw GraphError({.source = "seconds",
                      .problem = fmt::format("got {} numbers, expected one for each of {} ops",
                                             problem_.seconds.size(), ops)});
  }
  if (backward > ops) {
    throw GraphError({.source = "backward",
                      .problem = fmt::format("got {}, expected at most {}", backward, ops)});
  }
  relaxed_ = problem_;
  if (rows) {
    add_rows(*rows);
  } else {
    for (OpId op = 0; op < backward; ++op) add_recomputes(op);
  }
  add_steps(regions);
}

void GraphBudget::add_rows(const RecomputeRows& rows) {
  const StepGraph& graph = problem_.graph;
  std::vector<char> is_written(graph.values.size());  // by forward
  for (OpId op = 0; op < problem_.backward; ++op) {
    for (const ValueId value : graph.ops[op].outputs) is_written[value] = true;
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& [value, inputs, workspace_bytes, seconds, share] = rows[row];
    const auto from_forward = [&](ValueId v) { return v < is_written.size() && is_written[v]; };
    if (!from_forward(value) || graph.values[value].kept || graph.values[value].bytes == 0 ||
        !std::all_of(inputs.begin(), inputs.end(), from_forward)) {
      throw GraphError({.source = fmt::format("recomputes, row {}", row),
                        .problem = "expected a tensor of forward that is not kept, made of such"});
    }
    problem_.recomputes.push_back(
        {.value = value, .inputs = inputs, .workspace_bytes = workspace_bytes, .seconds = seconds});
    relaxed_.recomputes.push_back({.value = value, .inputs = inputs, .seconds = share});
  }
}

void GraphBudget::add_recomputes(OpId op) {
  const StepGraph& graph = problem_.graph;
  const StepOp& made_by = graph.ops[op];
  std::uint64_t bytes = 0;
  for (const ValueId output : made_by.outputs) bytes += graph.values[output].bytes;
  for (std::size_t k = 0; k < made_by.outputs.size(); ++k) {
    const StepValue& value = graph.values[made_by.outputs[k]];
    if (value.resident || value.kept || value.bytes == 0) continue;
    Recompute recompute{.value = made_by.outputs[k],
                        .inputs = made_by.inputs,
                        .workspace_bytes = made_by.workspace_bytes,
                        .seconds = problem_.seconds[op]};
    for (const InPlacePair& pair : made_by.in_place) {
      if (static_cast<std::size_t>(pair.output) != k) continue;
      recompute.in_place.push_back({.input = pair.input, .output = 0});
    }
    problem_.recomputes.push_back(recompute);
    problem_.recomputes.back().workspace_bytes += bytes - value.bytes;
    recompute.seconds /= static_cast<double>(made_by.outputs.size());
    relaxed_.recomputes.push_back(std::move(recompute));
  }
}

void GraphBudget::add_steps(const RegionRows& rows) {
  std::vector<OpRegion> regions;
  for (const auto& [ops, inputs, in_place, all_rounds] : rows) {
    OpRegion& region = regions.emplace_back(
        OpRegion{.ops = ops, .inputs = inputs, .in_place = in_place, .rounds = {}});
    for (const auto& [count, workspace_bytes, seconds] : all_rounds) {
      region.rounds.push_back(
          {.count = count, .workspace_bytes = workspace_bytes, .seconds = seconds});
    }
  }
  const double whole = sum_of(problem_.seconds);
  for (const RoundsChoice& choice : rounds_choices(regions, kMostSteps)) {
    steps_.push_back(std::make_unique<Step>(in_rounds(problem_, regions, choice),
                                            in_rounds(relaxed_, regions, choice, true)));
    Step& step = *steps_.back();
    for (std::size_t k = 0; k < regions.size(); ++k) {
      step.rounds.push_back(choice[k] == 0 ? 0 : regions[k].rounds[choice[k] - 1].count);
    }
    step.seconds -= whole;
    fastest_ = std::min(fastest_, step.seconds);
  }
}

GraphBudget::Step::Step(ProblemInRounds found_problem, ProblemInRounds relaxed_problem)
    : found(std::move(found_problem)),
      relaxed(std::move(relaxed_problem)),
      seconds(sum_of(found.problem.seconds)),
      one_exit(relaxed.problem),
      bound(relaxed.problem, one_exit) {}

std::vector<GraphBudgetPoint> GraphBudget::points() {
  std::vector<Point> best;
  for (const auto& step : steps_) {
    step->curve = budget_curve(step->found.problem);
    if (stop_.stop_requested()) return {};
    for (const BudgetPoint& point : step->curve) {
      best.push_back({step.get(), &point, step->seconds + point.extra_seconds});
    }
  }
  keep_best(best, &Point::seconds, [](const Point& point) { return point.point->peak; });
  std::vector<GraphBudgetPoint> points;
  for (const auto& [step, point, seconds] : best) {
    if (stop_.stop_requested()) break;
    const BudgetVerdict verdict = check_budget(step->found.problem, *point);
    if (!verdict.valid) throw std::logic_error(verdict.reason);
    const double extra = seconds - fastest_;
    points.push_back({point->peak, extra, bound_within(point->peak, extra),
                      sequence_of(step->found, point->choice), step->rounds});
  }
  return points;
}

double GraphBudget::bound_within(std::uint64_t bytes, double found) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& step : steps_) {
    const double slower = step->seconds - fastest_;
    const double enough = kNear * std::min(found, least) - slower;
    least = std::min(least, slower + step->bound.extra_seconds(bytes, enough));
  }
  return least;
}

}  // namespace skyline
