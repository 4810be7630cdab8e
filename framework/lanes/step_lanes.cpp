#include "framework/lanes/step_lanes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "memory/lanes/conflicts.h"
#include "memory/lanes/lane_planner.h"

namespace skyline {
namespace {

// Lanes keep more cores busy, and more of the rest of the program waits for one.
constexpr double kLeastSaving = 0.15;

double median_without_first(std::vector<double> seconds) {
  const auto middle = seconds.begin() + LaneTrial::kSteps / 2;
  std::nth_element(seconds.begin() + 1, middle, seconds.end());
  return *middle;
}

// Seconds that a wide op must save where it is not planned: for all lanes to become free.
constexpr double kLeastGain = 10e-6;

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

bool same_ops(const StepGraph& graph, const StepGraph& other) {
  return std::ranges::equal(graph.ops, other.ops, {}, &StepOp::name, &StepOp::name);
}

}  // namespace

void LaneTrial::add(double seconds) {
  (on_lanes() ? lanes_ : one_lane_).push_back(seconds);
  if (!decided()) return;
  pays_ = median_without_first(lanes_) < (1 - kLeastSaving) * median_without_first(one_lane_);
}

StepLanes::Step StepLanes::begin(StepKind kind) {
  kind_ = kind;
  place_ = 0;
  differs_ = false;
  Kind& known = this->kind();
  wide_ = false;
  work_ = 0;
  seconds_.clear();
  shared_.clear();
  began_ = std::chrono::steady_clock::now();
  now_ = known.recorded;
  step_ = Step::kOnLanes;
  if (now_ && must_pay_ && !known.trial.on_lanes()) {
    now_.reset();
    step_ = Step::kOneLane;
  }
  if (known.recorded) return step_;
  const int before = known.steps++;
  step_ = before == 0 ? Step::kFirst : before <= kTimedSteps ? Step::kTimed : Step::kTimedWide;
  return step_;
}

void StepLanes::time(OpId op, double seconds, bool shared) {
  seconds_.resize(op + 1);
  seconds_.back() = seconds;
  shared_.resize(op + 1);
  shared_.back() = shared;
}

void StepLanes::learn(StepGraph graph) {
  Kind& known = this->kind();
  seconds_.resize(graph.ops.size());
  shared_.resize(graph.ops.size());
  std::vector<double> seconds = std::exchange(seconds_, {});
  const std::vector<bool> shared = std::exchange(shared_, {});
  const bool wide = step_ == Step::kTimedWide;
  add_means(graph, seconds, wide ? &Means::wide : &Means::one_lane, known.means);
  for (std::size_t op = 0; wide && op < seconds.size(); ++op) {
    if (!shared[op]) seconds[op] = std::numeric_limits<double>::infinity();
  }
  const bool same = same_ops(graph, known.graph);
  std::vector<double>& least = wide ? known.wide_seconds : known.seconds;
  if (same && least.size() == seconds.size()) {
    std::ranges::transform(seconds, least, seconds.begin(), std::ranges::min);
  }
  // A wide step of other ops tells nothing about these.
  if (same || !wide) least = std::move(seconds);
  if (!wide) known.graph = std::move(graph);
  if (known.steps < kStepsBefore) return;
  graph = std::move(known.graph);
  auto recorded = std::make_shared<Recorded>();
  recorded->schedule =
      assign_lanes(graph, known.seconds, lanes_,
                   {.wake_seconds = wake_seconds_, .wide_seconds = known.wide_seconds});
  add_waits_of_wide_ops(graph, recorded->schedule);
  recorded->alone = ops_alone(graph, recorded->schedule.lanes, lanes_);
  recorded->means = std::move(known.means);
  recorded->lives = requests_before_free(simulate(graph));
  recorded->graph = std::move(graph);
  const std::lock_guard lock(mutex_);
  known.recorded = std::move(recorded);
}

void StepLanes::add_means(const StepGraph& graph, std::span<const double> seconds,
                          double Means::*place, MeansOfOps& means) {
  std::map<double*, std::pair<double, int>> sums;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const auto [at, added] = means.try_emplace(
        std::tuple(graph.ops[op].phase, graph.ops[op].name, graph.ops[op].layer), kUnknown);
    auto& [sum, count] = sums[&(at->second.*place)];
    sum += seconds[op];
    ++count;
  }
  for (const auto& [least, sum] : sums) *least = std::min(*least, sum.first / sum.second);
}

const StepLanes::Means& StepLanes::means_of(const Recorded& recorded, Phase phase,
                                            std::string_view op, std::string_view layer) {
  const auto known = recorded.means.find(std::tuple(phase, op, layer));
  return known == recorded.means.end() ? kUnknown : known->second;
}

std::optional<LaneId> StepLanes::next(Phase phase, std::string_view op, std::string_view layer) {
  wide_ = step_ == Step::kTimedWide;
  const Kind& known = kind();
  if (must_pay_ && known.recorded && !known.trial.decided()) {
    const double seconds = means_of(*known.recorded, phase, op, layer).one_lane;
    if (std::isfinite(seconds)) work_ += seconds;
  }
  if (!now_) return {};
  const std::size_t place = place_++;
  if (!differs_) {
    differs_ = place >= now_->graph.ops.size() || now_->graph.ops[place].name != op;
    if (differs_) clocks_ = {};
  }
  if (differs_) {
    const Means& means = means_of(*now_, phase, op, layer);
    wide_ = means.wide + kLeastGain < means.one_lane;
    if (wide_) clocks_ = {};
    return {};
  }
  wide_ = now_->schedule.wide[place];
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
  const double seconds = means_of(*now_, phase, op, layer).one_lane;
  clocks_.ends[best].push_back(start + (std::isfinite(seconds) ? seconds : 0));
  return static_cast<LaneId>(best);
}

void StepLanes::end() {
  Kind& known = kind();
  if (work_ > 0) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began_;
    const std::lock_guard lock(mutex_);
    known.trial.add(seconds.count() / work_);
  }
  now_.reset();
  step_ = Step::kFirst;
  wide_ = false;
}

bool StepLanes::gave_up(StepKind kind) const {
  const auto known = kinds_.find(kind);
  return known != kinds_.end() && known->second.trial.decided() && !known->second.trial.on_lanes();
}

std::size_t StepLanes::learned() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      kinds_, [](const auto& known) { return known.second.recorded != nullptr; }));
}

std::optional<Plan> StepLanes::plan(const Trace& trace) const {
  std::vector<std::shared_ptr<const Recorded>> all;
  bool one_lane = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [kind, known] : kinds_) {
      if (!known.recorded) continue;
      const bool on_lanes = !known.trial.decided() || known.trial.on_lanes();
      if (on_lanes) all.push_back(known.recorded);
      one_lane = one_lane || !on_lanes;
    }
  }
  if (one_lane && all.empty()) return {};
  const std::vector<std::size_t> lives = requests_before_free(trace);
  for (const auto& recorded : all) {
    if (recorded->lives == lives) {
      return plan_lanes(recorded->graph, recorded->schedule.lanes, trace);
    }
  }
  return plan_apart(trace);
}

}  // namespace skyline
