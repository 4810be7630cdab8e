#include "train/lab/lanes/lane_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "memory/lanes/antichain.h"
#include "memory/lanes/conflicts.h"
#include "memory/lanes/lane_checker.h"
#include "memory/planners/registry.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/cli/usage_error.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kLanesPage;  // a step on lanes: bytes against seconds

namespace {

// A step, and what orders its ops whatever runs where.
struct LaneQuestion {
  const StepGraph& graph;
  std::span<const double> seconds;
  std::size_t lanes;
  std::size_t paths;
  SimulatedStep step = simulate_uses(graph);
  StepEdges edges = step_edges(graph, step);
  PathColours colours = path_colours(edges, paths);
};

// Whoever runs the step makes ops wait for bytes, too, and knows it when ops get their lanes.
LanePlan timed(const LaneQuestion& question, std::string name, Plan plan) {
  LanePlan row{.name = std::move(name), .plan = std::move(plan)};
  row.waits = sharing_edges(question.step, row.plan, question.edges);
  const LaneSchedule schedule =
      assign_lanes(with_waits(question.edges, row.waits), question.seconds, question.lanes);
  row.seconds = schedule.seconds;
  row.critical_path = schedule.critical_path;
  row.within_colours = shared_within_colours(question.step, row.plan, question.colours);
  return row;
}

// On these lanes no op waits for bytes; on others some would.
LanePlan for_lanes(const LaneQuestion& question, const LaneSchedule& schedule, std::string name,
                   Plan plan) {
  LanePlan row = timed(question, std::move(name), std::move(plan));
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

using Json = nlohmann::ordered_json;

constexpr std::size_t kDrawnOps = 40;  // a larger graph is a tangle

// When each op begins.
std::vector<double> begins(const StepEdges& edges, const LaneSchedule& schedule,
                           std::span<const double> seconds) {
  std::vector<double> begin(edges.size()), free(edges.size() + 1);
  for (OpId op = 0; op < edges.size(); ++op) {
    begin[op] = free[schedule.lanes[op]];
    for (const OpId before : edges[op]) {
      begin[op] = std::max(begin[op], begin[before] + seconds[before]);
    }
    free[schedule.lanes[op]] = begin[op] + seconds[op];
  }
  return begin;
}

// The offset at which each op's first block begins; null without one.
Json offsets_of(const SimulatedStep& step, const Plan& plan, std::size_t ops) {
  Json offsets = std::vector<Json>(ops);
  for (const BlockUse& use : step.uses) {
    const bool writes = use.kind != BlockUse::Kind::kRead;
    if (writes && offsets[use.op].is_null()) offsets[use.op] = plan.offsets[use.block];
  }
  return offsets;
}

}  // namespace

Rows<LanePlan> rows(const LanePlan*) {
  return {{"plan", "what it is for", &LanePlan::name},
          {"peak", kBytes, "the highest byte in use", [](auto& row) { return row.plan.peak; }},
          {"above_one_lane", kShare, "of the plan for one lane that it takes more",
           &LanePlan::above_one_lane},
          {"proved_bound", kBytes, "no such plan needs less",
           [](auto& row) { return row.plan.proved_bound; }},
          {"proved_optimal", "the peak is this bound",
           [](auto& row) { return row.plan.proved_optimal; }},
          {"waits", kCount, "between lanes that sharing bytes adds",
           [](auto& row) { return row.waits.size(); }},
          {"seconds", kSeconds, "of the step on the lanes", &LanePlan::seconds},
          {"critical_path_seconds", kSeconds, "of the step on any number of lanes",
           &LanePlan::critical_path},
          {"within_colours", kShare, "of the bytes that blocks share: within one path's colour",
           &LanePlan::within_colours}};
}

Rows<LaneAnswer> rows(const LaneAnswer*) {
  return {{"lanes", kCount, "on which ops run", &LaneAnswer::lanes},
          {"ops", kCount, "that run: all but views", &LaneAnswer::ops},
          {"most_at_once", kCount, "ops that may run at once",
           [](auto& answer) { return answer.at_once.size(); }},
          {"events", kCount, "waits between lanes", &LaneAnswer::events},
          {"paths", kCount, "colours that the whole graph takes", &LaneAnswer::paths},
          {"coloured_paths", kCount, "paths that have a colour, the longest first",
           &LaneAnswer::coloured},
          {"seconds", kSeconds, "of the step on the lanes",
           [](auto& answer) { return answer.schedule.seconds; }},
          {"critical_path_seconds", kSeconds, "of the longest path",
           [](auto& answer) { return answer.schedule.critical_path; }},
          {"sum_seconds", kSeconds, "of all ops", [](auto& answer) { return answer.schedule.sum; }},
          {"seconds_source", "where the seconds of ops are from", &LaneAnswer::seconds_source},
          {"plans", "for one lane, for the lanes, by path colours, and safe for any",
           &LaneAnswer::plans}};
}

std::string LaneAnswer::text() const {
  std::string text = fmt::format(
      "lanes      {}: a step of {} takes {}; its longest path takes {};\n"
      "           at most {} of {} ops may run at once; {} events between lanes;\n"
      "           seconds {}\n\n",
      lanes, format_seconds(schedule.sum, 2), format_seconds(schedule.seconds, 2),
      format_seconds(schedule.critical_path, 2), format_count(std::ssize(at_once)),
      format_count(static_cast<std::int64_t>(ops)), format_count(static_cast<std::int64_t>(events)),
      seconds_source);
  Table table(fmt::format("<plan for | planned | at least | above | waits | on {} lane{} | on any",
                          lanes, lanes == 1 ? "" : "s"));
  for (const LanePlan& row : plans) {
    table.add_row({row.name, format_bytes(row.plan.peak), format_bytes(row.plan.proved_bound),
                   fmt::format("{:.1f} %", 100 * row.above_one_lane),
                   format_count(std::ssize(row.waits)), format_seconds(row.seconds, 2),
                   format_seconds(row.critical_path, 2)});
  }
  text += table.str();
  std::string shares;
  for (const LanePlan& row : plans) {
    if (!row.within_colours) continue;
    shares += fmt::format("{}{} for {}", shares.empty() ? "" : ", ",
                          percent(*row.within_colours, 0), row.name);
  }
  return text +
         wrapped(fmt::format("{} of {} paths have a colour; of the bytes that blocks share, "
                             "blocks of one colour share {}",
                             format_count(static_cast<std::int64_t>(coloured)),
                             format_count(static_cast<std::int64_t>(paths)),
                             shares.empty() ? "nothing" : shares),
                 80) +
         "\n";
}

LaneAnswer lane_answer(const StepGraph& graph, std::span<const double> seconds, std::size_t lanes,
                       const std::string& seconds_source, std::size_t paths) {
  const std::vector<std::uint64_t> work = work_of(graph);
  LaneAnswer answer{.lanes = lanes,
                    .ops = static_cast<std::size_t>(std::ranges::count(work, std::uint64_t{1})),
                    .seconds_source = seconds_source};
  if (lanes > answer.ops) {
    throw UsageError(fmt::format("--lanes {}: the step has only {} ops", lanes, answer.ops));
  }
  const LaneQuestion question{graph, seconds, lanes, paths};
  answer.schedule = assign_lanes(question.edges, seconds, lanes);
  answer.events = lane_events(question.edges, answer.schedule.lanes).size();
  answer.at_once = most_at_once(question);
  const Lanes& given = answer.schedule.lanes;
  answer.plans.push_back(timed(question, "one lane", plan(question.step.trace)));
  Plan of_lanes = lanes > 1 ? plan_lanes(graph, given) : answer.one_lane().plan;
  if (lanes > 1) {
    answer.plans.push_back(
        for_lanes(question, answer.schedule, fmt::format("{} lanes", lanes), of_lanes));
  }
  answer.coloured = question.colours.paths;
  answer.paths = path_colours(question.edges).paths;
  answer.plans.push_back(timed(question, "path colours", plan_path_colours(graph, {}, paths)));
  answer.plans.push_back(for_lanes(question, answer.schedule, "path colours, soft",
                                   plan_soft_colours(graph, std::move(of_lanes), given, paths)));
  answer.plans.push_back(timed(question, "any order", plan_any_order(graph)));
  const auto least = static_cast<double>(answer.one_lane().plan.peak);
  for (LanePlan& row : answer.plans) {
    if (least > 0) row.above_one_lane = static_cast<double>(row.plan.peak) / least - 1;
  }
  return answer;
}

Value graph_drawing(const StepGraph& graph, const std::vector<DrawnPlan>& plans,
                    std::size_t paths) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  Json drawing = {{"edges", edges}, {"colours", path_colours(edges, paths).of_op}};
  for (const StepOp& op : graph.ops) drawing["names"].push_back(op.name);
  for (const DrawnPlan& drawn : plans) {
    Json waits = Json::array();
    for (const LaneEvent& wait : drawn.waits) waits.push_back({wait.before, wait.after});
    drawing["plans"].push_back({{"plan", drawn.name},
                                {"peak", drawn.plan.peak},
                                {"waits", waits},
                                {"offsets", offsets_of(step, drawn.plan, graph.ops.size())}});
  }
  return drawing;
}

Value lane_pictures(const LaneAnswer& answer, const StepGraph& graph,
                    std::span<const double> seconds) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  const std::vector<double> begin = begins(edges, answer.schedule, seconds);
  Json data = to_json(answer);
  data["at_once"] = answer.at_once;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const StepOp& written = graph.ops[op];
    data["steps"].push_back(
        {{"name", written.layer.empty() ? written.name : written.layer + " · " + written.name},
         {"phase", phase_name(written.phase)},
         {"lane", answer.schedule.lanes[op]},
         {"begin", begin[op]},
         {"seconds", seconds[op]}});
  }
  if (graph.ops.size() <= kDrawnOps) {
    std::vector<DrawnPlan> plans;
    for (const LanePlan& row : answer.plans) plans.push_back({row.name, row.plan, row.waits});
    data["drawing"] = graph_drawing(graph, plans, answer.coloured).json();
  }
  return data;
}

std::string lane_page(const LaneAnswer& answer, const StepGraph& graph,
                      std::span<const double> seconds, const std::string& title) {
  return render_page(kLanesPage, title, page_text(lane_pictures(answer, graph, seconds).json()));
}

}  // namespace skyline
