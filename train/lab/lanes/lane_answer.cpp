#include "train/lab/lanes/lane_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "memory/lanes/antichain.h"
#include "memory/lanes/conflicts.h"
#include "memory/lanes/lane_checker.h"
#include "memory/lanes/lane_planner.h"
#include "memory/planners/registry.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

// A step, and what orders its ops whatever runs where.
struct LaneQuestion {
  const StepGraph& graph;
  std::span<const double> seconds;
  std::size_t lanes;
  SimulatedStep step = simulate_uses(graph);
  StepEdges edges = step_edges(graph, step);
};

// Whoever runs the step makes ops wait for bytes, too, and knows it when ops get their lanes.
LanePlan timed(const LaneQuestion& question, std::string name, Plan plan) {
  LanePlan row{.name = std::move(name), .plan = std::move(plan)};
  row.waits = sharing_edges(question.step, row.plan, question.edges);
  const LaneSchedule schedule =
      assign_lanes(with_waits(question.edges, row.waits), question.seconds, question.lanes);
  row.seconds = schedule.seconds;
  row.critical_path = schedule.critical_path;
  return row;
}

// On these lanes no op waits for bytes; on others some would.
LanePlan for_lanes(const LaneQuestion& question, const LaneSchedule& schedule) {
  LanePlan row = timed(question, fmt::format("{} lanes", question.lanes),
                       plan_lanes(question.graph, schedule.lanes));
  const std::vector<LaneEvent> events = lane_events(question.edges, schedule.lanes);
  const LaneVerdict verdict = check_lanes(question.graph, row.plan, schedule.lanes, events);
  if (!verdict.safe) throw std::logic_error("the plan for lanes is not safe: " + verdict.reason);
  row.waits = sharing_edges(question.step, row.plan, question.edges, schedule.lanes);
  row.seconds = schedule.seconds;
  return row;
}

// A view is no work.
bool is_view(const StepGraph& graph, const StepOp& op) {
  return !op.outputs.empty() && std::ranges::all_of(op.outputs, [&](ValueId value) {
    return graph.values[value].storage != value;
  });
}

std::vector<std::uint64_t> work_of(const StepGraph& graph) {
  std::vector<std::uint64_t> work;
  for (const StepOp& op : graph.ops) work.push_back(is_view(graph, op) ? 0 : 1);
  return work;
}

std::vector<OpId> most_at_once(const LaneQuestion& question) {
  const std::vector<std::uint64_t> work = work_of(question.graph);
  std::vector<OpId> ops;
  for (const std::size_t op :
       heaviest_antichain(op_conflicts(HappensBefore(question.edges)), work).members) {
    if (work[op] > 0) ops.push_back(static_cast<OpId>(op));
  }
  return ops;
}

std::string shown(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", 1000 * seconds) : fmt::format("{:.2f} s", seconds);
}

}  // namespace

double LaneAnswer::share_above_one_lane(const LanePlan& plan) const {
  if (one_lane().plan.peak == 0) return 0;
  return static_cast<double>(plan.plan.peak) / static_cast<double>(one_lane().plan.peak) - 1;
}

nlohmann::ordered_json LaneAnswer::json() const {
  nlohmann::ordered_json json = {{"lanes", lanes},
                                 {"ops", ops},
                                 {"most_at_once", at_once.size()},
                                 {"events", events},
                                 {"seconds", schedule.seconds},
                                 {"critical_path_seconds", schedule.critical_path},
                                 {"sum_seconds", schedule.sum},
                                 {"seconds_source", seconds_source},
                                 {"plans", nlohmann::ordered_json::array()}};
  for (const LanePlan& row : plans) {
    json["plans"].push_back({{"plan", row.name},
                             {"peak", row.plan.peak},
                             {"above_one_lane", share_above_one_lane(row)},
                             {"proved_bound", row.plan.proved_bound},
                             {"proved_optimal", row.plan.proved_optimal},
                             {"waits", row.waits.size()},
                             {"seconds", row.seconds},
                             {"critical_path_seconds", row.critical_path}});
  }
  return json;
}

std::string LaneAnswer::text() const {
  std::string text = fmt::format(
      "lanes      {}: a step of {} takes {}; its longest path takes {};\n"
      "           at most {} of {} ops may run at once; {} events between lanes;\n"
      "           seconds {}\n\n",
      lanes, shown(schedule.sum), shown(schedule.seconds), shown(schedule.critical_path),
      format_count(std::ssize(at_once)), format_count(static_cast<std::int64_t>(ops)),
      format_count(static_cast<std::int64_t>(events)), seconds_source);
  Table table({{"plan for", Align::kLeft},
               {"planned"},
               {"at least"},
               {"above"},
               {"waits"},
               {fmt::format("on {} lane{}", lanes, lanes == 1 ? "" : "s")},
               {"on any number"}});
  for (const LanePlan& row : plans) {
    table.add_row({row.name, format_bytes(row.plan.peak), format_bytes(row.plan.proved_bound),
                   fmt::format("{:.1f} %", 100 * share_above_one_lane(row)),
                   format_count(std::ssize(row.waits)), shown(row.seconds),
                   shown(row.critical_path)});
  }
  return text + table.str();
}

LaneAnswer lane_answer(const StepGraph& graph, std::span<const double> seconds, std::size_t lanes,
                       const std::string& seconds_source) {
  const std::vector<std::uint64_t> work = work_of(graph);
  LaneAnswer answer{.lanes = lanes,
                    .ops = static_cast<std::size_t>(std::ranges::count(work, std::uint64_t{1})),
                    .seconds_source = seconds_source};
  if (lanes > answer.ops) {
    throw UsageError(fmt::format("--lanes {}: the step has only {} ops", lanes, answer.ops));
  }
  const LaneQuestion question{graph, seconds, lanes};
  answer.schedule = assign_lanes(question.edges, seconds, lanes);
  answer.events = lane_events(question.edges, answer.schedule.lanes).size();
  answer.at_once = most_at_once(question);
  answer.plans.push_back(timed(question, "one lane", plan(question.step.trace)));
  if (lanes > 1) answer.plans.push_back(for_lanes(question, answer.schedule));
  answer.plans.push_back(timed(question, "path colours", plan_path_colours(graph)));
  answer.plans.push_back(timed(question, "any order", plan_any_order(graph)));
  return answer;
}

}  // namespace skyline
