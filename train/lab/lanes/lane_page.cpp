#include "train/lab/lanes/lane_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "memory/lanes/antichain.h"
#include "memory/step_graph.h"
#include "train/report/page.h"

namespace skyline {
namespace {

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

std::string lane_page(const LaneAnswer& answer, const StepGraph& graph,
                      std::span<const double> seconds, const std::string& title) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  const std::vector<double> begin = begins(edges, answer.schedule, seconds);
  Json data = answer.json();
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

}  // namespace skyline
