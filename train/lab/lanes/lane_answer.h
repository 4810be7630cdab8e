#pragma once

#include <span>
#include <string>
#include <vector>

#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/step_graph.h"
#include "train/cli/figures.h"

namespace skyline {

// A plan of a step, and what it costs in time to run the step's ops on lanes with it.
struct LanePlan {
  std::string name;  // "one lane", "2 lanes", "path colours", "any order"
  Plan plan;
  // That sharing bytes adds: the MXNet note's implicit edges. On the lanes that the plan is for;
  // for the other plans, on any.
  std::vector<LaneEvent> waits;
  double seconds = 0;        // the step on the lanes
  double critical_path = 0;  // the step on any number of lanes
};

// The seconds that a step gains if its ops run on lanes, and the bytes that this takes, without
// resident ones.
struct LaneAnswer {
  std::size_t lanes = 0;
  LaneSchedule schedule;  // without waits for bytes
  std::vector<LanePlan> plans;
  std::vector<OpId> at_once;  // the most ops of which no two wait for each other
  std::size_t ops = 0;        // that run: all but views
  std::size_t events = 0;     // between lanes
  std::string seconds_source;

  // Of the plan for one lane, which comes first.
  const LanePlan& one_lane() const { return plans.front(); }
  double share_above_one_lane(const LanePlan& plan) const;

  std::string text() const;  // lines of at most 80 columns
};
Rows<LaneAnswer> rows(const LaneAnswer*);

// A plan beside that for one lane, as it is told.
struct ToldPlan {
  const LaneAnswer& answer;
  const LanePlan& row;
};
Rows<ToldPlan> rows(const ToldPlan*);

// Plans a step for one lane, for `lanes` lanes, for path colours and for any order. `seconds` are
// those of each op. Throws UsageError for more lanes than ops.
LaneAnswer lane_answer(const StepGraph& graph, std::span<const double> seconds, std::size_t lanes,
                       const std::string& seconds_source);

// Makes the page of an answer: the plans' bytes against seconds, the lanes over time and, for steps
// of few ops, the graph with the edges that each plan adds. The answer must be that of `graph` and
// `seconds`.
std::string lane_page(const LaneAnswer& answer, const StepGraph& graph,
                      std::span<const double> seconds, const std::string& title);

// Returns the example of the MXNet note, "Memory Allocation for Parallel Operations": A[1] feeds
// two branches, A[2] to A[4] and A[5] to A[7], which A[8] joins. All values have one size. Run as
// written, one lane lets A[5] take the bytes of A[2], so the branches cannot run side by side.
StepGraph parallel_note_graph();

// The note's example on two lanes; each op takes one second.
struct ParallelNote {
  StepGraph graph = parallel_note_graph();
  LaneAnswer answer;
};
ParallelNote reproduce_parallel_note();

Rows<ParallelNote> rows(const ParallelNote*);
std::string parallel_note_text(const ParallelNote& note);
std::string parallel_note_page(const ParallelNote& note);

}  // namespace skyline
