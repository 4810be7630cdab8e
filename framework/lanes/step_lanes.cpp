#include "framework/lanes/step_lanes.h"

#include <algorithm>
#include <utility>

#include "memory/lanes/happens_before.h"
#include "memory/lanes/lane_planner.h"
#include "memory/lanes/step_edges.h"

namespace skyline {
namespace {

// By op; see StepLanes::alone().
std::vector<bool> ops_alone(const StepGraph& graph, const Lanes& op_lanes, std::size_t lanes) {
  const HappensBefore order(step_edges(graph, simulate_uses(graph)), op_lanes);
  std::vector<bool> alone(graph.ops.size());
  std::vector<std::optional<OpId>> next(lanes);  // op of each lane after the one at hand
  for (std::size_t place = graph.ops.size(); place-- > 0;) {
    const auto op = static_cast<OpId>(place);
    next[op_lanes[op]] = op;
    alone[op] = op_lanes[op] == 0 &&
                std::all_of(next.begin() + 1, next.end(), [&](const std::optional<OpId>& later) {
                  return !later || order.before(op, *later);
                });
  }
  return alone;
}

}  // namespace

StepLanes::Step StepLanes::begin(StepKind kind) {
  kind_ = kind;
  place_ = 0;
  differs_ = false;
  Kind& known = this->kind();
  now_ = known.recorded;
  if (now_) return Step::kOnLanes;
  return known.steps++ == 0 ? Step::kFirst : Step::kRecorded;
}

void StepLanes::learn(StepGraph graph, std::vector<double> seconds) {
  Kind& known = this->kind();
  if (known.seconds.size() == seconds.size()) {
    std::ranges::transform(seconds, known.seconds, seconds.begin(), std::ranges::min);
  }
  known.seconds = seconds;
  if (known.steps < kStepsOnOneLane) return;
  auto recorded = std::make_shared<Recorded>();
  recorded->schedule = assign_lanes(graph, seconds, lanes_, wake_seconds_);
  recorded->alone = ops_alone(graph, recorded->schedule.lanes, lanes_);
  std::map<std::tuple<Phase, std::string, std::string>, int> counts;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const std::tuple key(graph.ops[op].phase, graph.ops[op].name, graph.ops[op].layer);
    double& mean = recorded->seconds[key];
    mean += (seconds[op] - mean) / ++counts[key];
  }
  recorded->lives = requests_before_free(simulate(graph));
  recorded->graph = std::move(graph);
  const std::lock_guard lock(mutex_);
  known.recorded = std::move(recorded);
}

std::optional<LaneId> StepLanes::next(std::string_view op) {
  if (!now_ || differs_) return {};
  const std::size_t place = place_++;
  differs_ = place >= now_->graph.ops.size() || now_->graph.ops[place].name != op;
  if (differs_) {
    clocks_ = {};
    return {};
  }
  return now_->schedule.lanes[place];
}

LaneId StepLanes::soonest(Phase phase, std::string_view op, std::string_view layer,
                          const LaneClock& before, const LaneClock& enqueued) {
  if (!now_) return 0;
  if (clocks_.ends.empty()) clocks_ = {.first = enqueued, .ends = {}};
  clocks_.ends.resize(lanes_);
  double ready = 0;
  std::size_t last = 0;  // the lane of the op that ends last among those before
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const auto place = static_cast<std::int32_t>(before[lane] - clocks_.first[lane]);
    if (place <= 0) continue;
    const double end = clocks_.ends[lane][static_cast<std::size_t>(place) - 1];
    if (end > ready) last = lane;
    ready = std::max(ready, end);
  }
  const auto free_at = [this](std::size_t lane) {
    return clocks_.ends[lane].empty() ? 0 : clocks_.ends[lane].back();
  };
  std::size_t best = last;
  double start = std::max(ready, free_at(last));
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const double other = std::max(ready, free_at(lane));
    if (other < start) best = lane, start = other;
  }
  const auto known = now_->seconds.find(std::tuple(phase, std::string(op), std::string(layer)));
  clocks_.ends[best].push_back(start + (known == now_->seconds.end() ? 0 : known->second));
  return static_cast<LaneId>(best);
}

std::size_t StepLanes::learned() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      kinds_, [](const auto& known) { return known.second.recorded != nullptr; }));
}

Plan StepLanes::plan(const Trace& trace) const {
  std::vector<std::shared_ptr<const Recorded>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [kind, known] : kinds_) {
      if (known.recorded) all.push_back(known.recorded);
    }
  }
  const std::vector<std::size_t> lives = requests_before_free(trace);
  for (const auto& recorded : all) {
    if (recorded->lives == lives) {
      return plan_lanes(recorded->graph, recorded->schedule.lanes, trace);
    }
  }
  return plan_apart(trace);
}

}  // namespace skyline
