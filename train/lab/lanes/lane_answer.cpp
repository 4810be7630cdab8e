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
#include "train/report/page.h"

namespace skyline {
namespace {

constexpr std::uint64_t kValueBytes = 1 << 20;
constexpr std::size_t kNoteLanes = 2;
const std::vector<double> kNoteSeconds(8, 1.0);

// The edges that a plan adds: "A[5] waits for A[4]".
std::vector<std::string> edges_of(const ParallelNote& note, const LanePlan& plan) {
  std::vector<std::string> edges;
  for (const LaneEvent& edge : plan.waits) {
    edges.push_back(fmt::format("{} waits for {}", note.graph.ops[edge.after].name,
                                note.graph.ops[edge.before].name));
  }
  return edges;
}

// A plan and its edges.
struct NotePlan {
  ToldPlan plan;
  std::vector<std::string> edges;
};

Rows<NotePlan> rows(const NotePlan*) {
  return {{"", "the plan", &NotePlan::plan}, {"edges", "its waits in words", &NotePlan::edges}};
}

}  // namespace

extern const PageFiles kLanesPage;  // a step on lanes: bytes against seconds

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

Json pairs_of(const std::vector<LaneEvent>& edges) {
  Json pairs = Json::array();
  for (const LaneEvent& edge : edges) pairs.push_back({edge.before, edge.after});
  return pairs;
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

double LaneAnswer::share_above_one_lane(const LanePlan& plan) const {
  if (one_lane().plan.peak == 0) return 0;
  return static_cast<double>(plan.plan.peak) / static_cast<double>(one_lane().plan.peak) - 1;
}

Rows<ToldPlan> rows(const ToldPlan*) {
  return {
      {"plan", "what it is for", [](auto& told) { return told.row.name; }},
      {"peak", kBytes, "the highest byte in use", [](auto& told) { return told.row.plan.peak; }},
      {"above_one_lane", kShare, "of the plan for one lane that it takes more",
       [](auto& told) { return told.answer.share_above_one_lane(told.row); }},
      {"proved_bound", kBytes, "no such plan needs less",
       [](auto& told) { return told.row.plan.proved_bound; }},
      {"proved_optimal", "the peak is this bound",
       [](auto& told) { return told.row.plan.proved_optimal; }},
      {"waits", kCount, "between lanes that sharing bytes adds",
       [](auto& told) { return told.row.waits.size(); }},
      {"seconds", kSeconds, "of the step on the lanes",
       [](auto& told) { return told.row.seconds; }},
      {"critical_path_seconds", kSeconds, "of the step on any number of lanes",
       [](auto& told) { return told.row.critical_path; }}};
}

Rows<LaneAnswer> rows(const LaneAnswer*) {
  return {{"lanes", kCount, "on which ops run", &LaneAnswer::lanes},
          {"ops", kCount, "that run: all but views", &LaneAnswer::ops},
          {"most_at_once", kCount, "ops that may run at once",
           [](auto& answer) { return answer.at_once.size(); }},
          {"events", kCount, "waits between lanes", &LaneAnswer::events},
          {"seconds", kSeconds, "of the step on the lanes",
           [](auto& answer) { return answer.schedule.seconds; }},
          {"critical_path_seconds", kSeconds, "of the longest path",
           [](auto& answer) { return answer.schedule.critical_path; }},
          {"sum_seconds", kSeconds, "of all ops", [](auto& answer) { return answer.schedule.sum; }},
          {"seconds_source", "where the seconds of ops are from", &LaneAnswer::seconds_source},
          {"plans", "for one lane, for the lanes, and safe for any", [](auto& answer) {
             std::vector<ToldPlan> plans;
             for (const LanePlan& row : answer.plans) plans.push_back({answer, row});
             return plans;
           }}};
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
  Table table(
      fmt::format("<plan for | planned | at least | above | waits | on {} lane{} | on any number",
                  lanes, lanes == 1 ? "" : "s"));
  for (const LanePlan& row : plans) {
    table.add_row({row.name, format_bytes(row.plan.peak), format_bytes(row.plan.proved_bound),
                   fmt::format("{:.1f} %", 100 * share_above_one_lane(row)),
                   format_count(std::ssize(row.waits)), format_seconds(row.seconds, 2),
                   format_seconds(row.critical_path, 2)});
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

std::string lane_page(const LaneAnswer& answer, const StepGraph& graph,
                      std::span<const double> seconds, const std::string& title) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  const std::vector<double> begin = begins(edges, answer.schedule, seconds);
  Json data = to_json(answer);
  data["at_once"] = answer.at_once;
  data["drawn"] = graph.ops.size() <= kDrawnOps;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const StepOp& written = graph.ops[op];
    data["steps"].push_back(
        {{"name", written.layer.empty() ? written.name : written.layer + " · " + written.name},
         {"phase", phase_name(written.phase)},
         {"lane", answer.schedule.lanes[op]},
         {"begin", begin[op]},
         {"seconds", seconds[op]}});
  }
  if (data["drawn"]) {
    data["edges"] = edges;
    data["colours"] = path_colours(edges);
    for (std::size_t k = 0; k < answer.plans.size(); ++k) {
      data["plans"][k]["edges"] = pairs_of(answer.plans[k].waits);
      data["plans"][k]["offsets"] = offsets_of(step, answer.plans[k].plan, graph.ops.size());
    }
  }
  return render_page(kLanesPage, title, data.dump());
}

StepGraph parallel_note_graph() {
  // What each A reads, counted from 1.
  const std::vector<std::vector<ValueId>> reads = {{}, {1}, {2}, {3}, {1}, {5}, {6}, {4, 7}};
  StepGraph graph;
  for (ValueId value = 0; value < reads.size(); ++value) {
    graph.values.push_back({.bytes = kValueBytes,
                            .category = Category::kActivation,
                            .kept = value + 1 == reads.size(),
                            .storage = value});
    StepOp op{.name = fmt::format("A[{}]", value + 1), .outputs = {value}};
    for (const ValueId read : reads[value]) op.inputs.push_back(read - 1);
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

ParallelNote reproduce_parallel_note() {
  ParallelNote note;
  note.answer = lane_answer(note.graph, kNoteSeconds, kNoteLanes, "one for each op");
  return note;
}

Rows<ParallelNote> rows(const ParallelNote*) {
  return {{"", "the answer", &ParallelNote::answer},
          {"plans", "for one lane, for the lanes, and safe for any", [](auto& note) {
             std::vector<NotePlan> plans;
             for (const LanePlan& row : note.answer.plans) {
               plans.push_back({{note.answer, row}, edges_of(note, row)});
             }
             return plans;
           }}};
}

std::string parallel_note_text(const ParallelNote& note) {
  std::string text = note.answer.text() + "\n";
  for (const LanePlan& row : note.answer.plans) {
    text += fmt::format("{}:", row.name);
    for (const std::string& edge : edges_of(note, row)) text += " " + edge + ";";
    text += row.waits.empty() ? " no op waits for bytes\n" : "\n";
  }
  return text;
}

std::string parallel_note_page(const ParallelNote& note) {
  return lane_page(note.answer, note.graph, kNoteSeconds, "The MXNet note's parallel operations");
}

}  // namespace skyline
