#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/lanes/lane_planner.h"
#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/step_graph.h"
#include "train/cli/figures.h"

namespace skyline {

// A plan of a step, and what it costs in time to run the step's ops on lanes with it.
struct LanePlan {
  // "one lane", "2 lanes", "path colours", "path colours, soft" (on these lanes; shares within a
  // colour where no byte is lost by it), "any order"
  std::string name;
  Plan plan;
  // That sharing bytes adds: the MXNet note's implicit edges. On the lanes that the plan is for;
  // for the other plans, on any.
  std::vector<LaneEvent> waits;
  double seconds = 0;         // the step on the lanes
  double critical_path = 0;   // the step on any number of lanes
  double above_one_lane = 0;  // share of the plan for one lane that it takes more
  // The share, within one colour, of the bytes that blocks have in common; empty: none are.
  std::optional<double> within_colours;
};

// The seconds that a step gains if its ops run on lanes, and the bytes that this takes, without
// resident ones.
struct LaneAnswer {
  std::size_t lanes = 0;
  LaneSchedule schedule;  // without waits for bytes
  std::vector<LanePlan> plans;
  std::vector<OpId> at_once;            // the most ops of which no two wait for each other
  std::size_t ops = 0;                  // that run: all but views
  std::size_t events = 0;               // between lanes
  std::size_t paths = 0, coloured = 0;  // all, and those that get a colour
  std::string seconds_source;

  // Of the plan for one lane, which comes first.
  const LanePlan& one_lane() const { return plans.front(); }

  std::string text() const;  // lines of at most 80 columns
};
Rows<LanePlan> rows(const LanePlan*);
Rows<LaneAnswer> rows(const LaneAnswer*);

// Plans a step for one lane, for `lanes` lanes, for path colours, hard and soft, and for any order.
// `seconds` are those of each op; the first `paths` longest paths get a colour. Throws UsageError
// for more lanes than ops.
LaneAnswer lane_answer(const StepGraph& graph, std::span<const double> seconds, std::size_t lanes,
                       const std::string& seconds_source, std::size_t paths = kAllPaths);

// A plan of a small step, and the waits that it adds.
struct DrawnPlan {
  std::string name;
  const Plan& plan;
  std::vector<LaneEvent> waits = {};
};
// Returns the data of a picture of the graph for each plan: names and edges of ops, their rows (a
// row a colour), the waits, and the offset of each op's first block.
Value graph_drawing(const StepGraph& graph, const std::vector<DrawnPlan>& plans,
                    std::size_t paths = kAllPaths);

// Returns the data of the answer's pictures: the answer, when each op begins and, for steps of few
// ops, the graph with the edges that each plan adds. The answer must be that of `graph` and
// `seconds`.
Value lane_pictures(const LaneAnswer& answer, const StepGraph& graph,
                    std::span<const double> seconds);

// Makes the page of these pictures.
std::string lane_page(const LaneAnswer& answer, const StepGraph& graph,
                      std::span<const double> seconds, const std::string& title);

}  // namespace skyline
