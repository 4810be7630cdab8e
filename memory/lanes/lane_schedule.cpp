#include "memory/lanes/lane_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <stdexcept>
#include <utility>

#include "memory/lanes/conflicts.h"
#include "memory/order/control_edges.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {
namespace {

// An op that writes over a block waits for the ops that have read it.
void add_overwrite_edges(const SimulatedStep& step, StepGraph& graph) {
  std::vector<std::vector<OpId>> readers(step.trace.size());
  for (const BlockUse& use : step.uses) {
    if (use.kind == BlockUse::Kind::kRead) readers[use.block].push_back(use.op);
    if (use.kind != BlockUse::Kind::kOverwrite) continue;
    for (const OpId reader : std::exchange(readers[use.block], {})) {
      if (reader != use.op) graph.ops[use.op].after.push_back(reader);
    }
  }
}

// Moves of one op to another lane that are tried: each looks at all ops and edges. Of ten networks
// small ones gained up to 7 %, those with more than a thousand ops less than 1 %.
constexpr std::size_t kMoveWork = std::size_t{1} << 24;

// The place of a wide op.
constexpr LaneId kAllLanes = std::numeric_limits<LaneId>::max();

class LaneScheduler {
 public:
  LaneScheduler(const StepEdges& edges, std::span<const double> seconds, std::size_t lanes,
                const LaneOptions& options)
      : edges_(edges), seconds_(seconds), lanes_(lanes), options_(options) {
    for (OpId op = 0; op < edges.size(); ++op) {
      to_the_end_.push_back(std::min(seconds[op], wide_seconds(op)));
    }
    const std::vector<double> least = to_the_end_;
    for (std::size_t op = edges.size(); op-- > 0;) {
      for (const OpId before : edges[op]) {
        to_the_end_[before] = std::max(to_the_end_[before], least[before] + to_the_end_[op]);
      }
    }
  }

  LaneSchedule run() const {
    LaneSchedule best = timed(Lanes(edges_.size()));
    for (const bool wide : {false, true}) {
      for (LaneSchedule other : {timed(as_written(wide)), timed(longest_path_first(wide))}) {
        if (other.seconds < best.seconds) best = std::move(other);
      }
      if (lanes_ == 1 || options_.wide_seconds.empty()) break;
    }
    move_ops(best);
    for (LaneId& lane : best.lanes) {
      best.wide.push_back(lane == kAllLanes);
      if (lane == kAllLanes) lane = 0;
    }
    return best;
  }

 private:
  // Moves single ops as long as that helps.
  void move_ops(LaneSchedule& best) const {
    std::size_t size = edges_.size();
    for (const std::vector<OpId>& befores : edges_) size += befores.size();
    std::size_t moves = kMoveWork / std::max<std::size_t>(size, 1);
    for (double before = -1; before != best.seconds && moves > 0;) {
      before = best.seconds;
      for (OpId op = 0; op < edges_.size(); ++op) {
        for (const LaneId lane : places(op)) {
          if (lane == best.lanes[op] || moves == 0) continue;
          --moves;
          Lanes moved = best.lanes;
          moved[op] = lane;
          LaneSchedule schedule = timed(std::move(moved));
          if (schedule.seconds < best.seconds) best = std::move(schedule);
        }
      }
    }
  }

  double wide_seconds(OpId op) const {
    return lanes_ == 1 || options_.wide_seconds.empty() ? std::numeric_limits<double>::infinity()
                                                        : options_.wide_seconds[op];
  }

  std::vector<LaneId> places(OpId op) const {
    std::vector<LaneId> places(lanes_);
    std::iota(places.begin(), places.end(), LaneId{0});
    if (std::isfinite(wide_seconds(op))) places.push_back(kAllLanes);
    return places;
  }

  // Takes ops in the program's sequence, each on the lane where it ends first.
  Lanes as_written(bool wide) const {
    Lanes lanes(edges_.size());
    std::vector<double> free = free_at_first(), done(edges_.size());
    for (OpId op = 0; op < edges_.size(); ++op) place(op, wide, lanes, free, done);
    return lanes;
  }

  // Takes the ready op with the longest path to the end whenever a lane is free.
  Lanes longest_path_first(bool wide) const {
    Lanes lanes(edges_.size());
    std::vector<double> free = free_at_first(), done(edges_.size());
    std::vector<std::size_t> missing(edges_.size());
    std::vector<std::vector<OpId>> successors(edges_.size());
    const auto later = [this](OpId a, OpId b) {
      return to_the_end_[a] != to_the_end_[b] ? to_the_end_[a] < to_the_end_[b] : a > b;
    };
    std::priority_queue<OpId, std::vector<OpId>, decltype(later)> ready(later);
    for (OpId op = 0; op < edges_.size(); ++op) {
      missing[op] = edges_[op].size();
      if (missing[op] == 0) ready.push(op);
      for (const OpId before : edges_[op]) successors[before].push_back(op);
    }
    for (; !ready.empty();) {
      const OpId op = ready.top();
      ready.pop();
      place(op, wide, lanes, free, done);
      for (const OpId next : successors[op]) {
        if (--missing[next] == 0) ready.push(next);
      }
    }
    return lanes;
  }

  // Puts an op where it ends first.
  void place(OpId op, bool wide, Lanes& lanes, std::vector<double>& free,
             std::vector<double>& done) const {
    const double ready = ready_at(op, done);
    lanes[op] = first_free(free, ready, lanes, op);
    if (wide &&
        wide_begin(free, ready) + wide_seconds(op) < begin(free[lanes[op]], ready) + seconds_[op]) {
      lanes[op] = kAllLanes;
    }
    run_op(op, lanes[op], ready, free, done);
  }

  void run_op(OpId op, LaneId lane, double ready, std::vector<double>& free,
              std::vector<double>& done) const {
    if (lane == kAllLanes) {
      done[op] = wide_begin(free, ready) + wide_seconds(op);
      std::ranges::fill(free, done[op]);
    } else {
      done[op] = free[lane] = begin(free[lane], ready) + seconds_[op];
    }
  }

  double ready_at(OpId op, const std::vector<double>& done) const {
    double at = 0;
    for (const OpId before : edges_[op]) at = std::max(at, done[before]);
    return at;
  }

  // Lanes other than the first are asleep.
  std::vector<double> free_at_first() const {
    std::vector<double> free(lanes_, -2 * options_.wake_seconds);
    free.front() = 0;
    return free;
  }

  // Returns when an op begins that is ready at `ready`, on a lane that is free since `free`.
  double begin(double free, double ready) const {
    const double wake = options_.wake_seconds;
    return ready - free > wake ? ready + wake : std::max(free, ready);
  }

  double wide_begin(const std::vector<double>& free, double ready) const {
    double at = ready;
    for (const double lane : free) at = std::max(at, lane);
    double all = at;
    for (const double lane : free) all = std::max(all, begin(lane, at));
    return all;
  }

  // Returns the lane on which an op that is ready at `ready` begins first; of ties the one that ran
  // an op whose result it reads, then the one that idles least.
  LaneId first_free(const std::vector<double>& free, double ready, const Lanes& lanes,
                    OpId op) const {
    const auto is_near = [&](LaneId lane) {
      return std::ranges::any_of(edges_[op], [&](OpId before) { return lanes[before] == lane; });
    };
    LaneId best = 0;
    for (LaneId lane = 1; lane < lanes_; ++lane) {
      const double at = begin(free[lane], ready), best_at = begin(free[best], ready);
      if (at > best_at) continue;
      if (at < best_at || is_near(lane) > is_near(best) ||
          (is_near(lane) == is_near(best) && free[lane] > free[best])) {
        best = lane;
      }
    }
    return best;
  }

  LaneSchedule timed(Lanes lanes) const {
    LaneSchedule schedule{.lanes = std::move(lanes)};
    std::vector<double> free = free_at_first(), done(edges_.size());
    for (OpId op = 0; op < edges_.size(); ++op) {
      run_op(op, schedule.lanes[op], ready_at(op, done), free, done);
      schedule.seconds = std::max(schedule.seconds, done[op]);
      schedule.critical_path = std::max(schedule.critical_path, to_the_end_[op]);
    }
    schedule.sum = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
    return schedule;
  }

  const StepEdges& edges_;
  std::span<const double> seconds_;
  std::size_t lanes_;
  LaneOptions options_;
  std::vector<double> to_the_end_;  // seconds of the longest path from an op to the step's end
};

}  // namespace

StepEdges step_edges(const StepGraph& graph, const SimulatedStep& step) {
  StepGraph whole = graph;
  add_overwrite_edges(step, whole);
  add_resident_edges(whole);
  OrderProblem problem = order_problem(whole, {});
  StepEdges edges;
  edges.reserve(problem.ops.size());
  for (OrderProblem::Op& op : problem.ops) edges.push_back(std::move(op.predecessors));
  return edges;
}

LaneSchedule assign_lanes(const StepGraph& graph, std::span<const double> seconds,
                          std::size_t lanes, const LaneOptions& options) {
  return assign_lanes(step_edges(graph, simulate_uses(graph)), seconds, lanes, options);
}

LaneSchedule assign_lanes(const StepEdges& edges, std::span<const double> seconds,
                          std::size_t lanes, const LaneOptions& options) {
  if (lanes == 0) throw std::invalid_argument("lanes: got 0, expected at least 1");
  const auto require = [&](std::span<const double> given) {
    if (given.size() == edges.size()) return;
    throw std::invalid_argument(
        fmt::format("lanes: got the seconds of {} ops, expected {}", given.size(), edges.size()));
  };
  require(seconds);
  if (!options.wide_seconds.empty()) require(options.wide_seconds);
  return LaneScheduler(edges, seconds, lanes, options).run();
}

void add_waits_of_wide_ops(StepGraph& graph, const LaneSchedule& schedule) {
  std::map<LaneId, OpId> last;  // by lane
  std::optional<OpId> last_wide;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    std::vector<OpId>& after = graph.ops[op].after;
    if (last_wide) after.push_back(*last_wide);
    if (schedule.wide[op]) {
      for (const auto& [lane, before] : last) after.push_back(before);
      last_wide = op;
    }
    last[schedule.lanes[op]] = op;
  }
}

std::vector<LaneEvent> lane_events(const StepEdges& edges, const Lanes& lanes) {
  HappensBefore order(edges.size());  // by lanes, and the events so far
  std::map<LaneId, OpId> last;        // by lane
  std::vector<LaneEvent> events;
  for (OpId op = 0; op < edges.size(); ++op) {
    const auto [at, is_first] = last.try_emplace(lanes[op], op);
    if (!is_first) order.add_wait(op, std::exchange(at->second, op));
    // The latest op first: what it waited for needs no event of its own.
    for (std::size_t k = edges[op].size(); k-- > 0;) {
      if (order.before(edges[op][k], op)) continue;
      events.push_back({edges[op][k], op});
      order.add_wait(op, edges[op][k]);
    }
  }
  return events;
}

}  // namespace skyline
