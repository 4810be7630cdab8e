#include "memory/lanes/lane_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace skyline {
namespace {

// Moves of one op to another lane that are tried: each looks at all ops and edges. Of ten networks
// small ones gained up to 7 %, those with more than a thousand ops less than 1 %.
constexpr std::size_t kMoveWork = std::size_t{1} << 24;

class LaneScheduler {
 public:
  LaneScheduler(const StepEdges& edges, std::span<const double> seconds, std::size_t lanes,
                double wake_seconds)
      : edges_(edges),
        seconds_(seconds),
        lanes_(lanes),
        wake_seconds_(wake_seconds),
        to_the_end_(seconds.begin(), seconds.end()) {
    for (std::size_t op = edges.size(); op-- > 0;) {
      for (const OpId before : edges[op]) {
        to_the_end_[before] = std::max(to_the_end_[before], seconds[before] + to_the_end_[op]);
      }
    }
  }

  LaneSchedule run() const {
    LaneSchedule best = timed(Lanes(edges_.size()));
    for (LaneSchedule other : {as_written(), timed(longest_path_first())}) {
      if (other.seconds < best.seconds) best = std::move(other);
    }
    move_ops(best);
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
        for (LaneId lane = 0; lane < lanes_ && moves > 0; ++lane) {
          if (lane == best.lanes[op]) continue;
          --moves;
          Lanes moved = best.lanes;
          moved[op] = lane;
          LaneSchedule schedule = timed(std::move(moved));
          if (schedule.seconds < best.seconds) best = std::move(schedule);
        }
      }
    }
  }

  // Takes ops in the program's sequence, each on the lane where it ends first.
  LaneSchedule as_written() const {
    Lanes lanes(edges_.size());
    std::vector<double> free = free_at_first(), done(edges_.size());
    for (OpId op = 0; op < edges_.size(); ++op) {
      const double ready = ready_at(op, done);
      lanes[op] = first_free(free, ready, lanes, op);
      done[op] = free[lanes[op]] = begin(free[lanes[op]], ready) + seconds_[op];
    }
    return timed(std::move(lanes));
  }

  // Takes the ready op with the longest path to the end whenever a lane is free.
  Lanes longest_path_first() const {
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
      const double ready_op = ready_at(op, done);
      lanes[op] = first_free(free, ready_op, lanes, op);
      done[op] = free[lanes[op]] = begin(free[lanes[op]], ready_op) + seconds_[op];
      for (const OpId next : successors[op]) {
        if (--missing[next] == 0) ready.push(next);
      }
    }
    return lanes;
  }

  double ready_at(OpId op, const std::vector<double>& done) const {
    double at = 0;
    for (const OpId before : edges_[op]) at = std::max(at, done[before]);
    return at;
  }

  // Lanes other than the first are asleep.
  std::vector<double> free_at_first() const {
    std::vector<double> free(lanes_, -2 * wake_seconds_);
    free.front() = 0;
    return free;
  }

  // Returns when an op begins that is ready at `ready`, on a lane that is free since `free`.
  double begin(double free, double ready) const {
    return ready - free > wake_seconds_ ? ready + wake_seconds_ : std::max(free, ready);
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
      double& lane = free[schedule.lanes[op]];
      done[op] = lane = begin(lane, ready_at(op, done)) + seconds_[op];
      schedule.seconds = std::max(schedule.seconds, lane);
      schedule.critical_path = std::max(schedule.critical_path, to_the_end_[op]);
    }
    schedule.sum = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
    return schedule;
  }

  const StepEdges& edges_;
  std::span<const double> seconds_;
  std::size_t lanes_;
  double wake_seconds_;
  std::vector<double> to_the_end_;  // seconds of the longest path from an op to the step's end
};

}  // namespace

LaneSchedule assign_lanes(const StepGraph& graph, std::span<const double> seconds,
                          std::size_t lanes, double wake_seconds) {
  return assign_lanes(step_edges(graph, simulate_uses(graph)), seconds, lanes, wake_seconds);
}

LaneSchedule assign_lanes(const StepEdges& edges, std::span<const double> seconds,
                          std::size_t lanes, double wake_seconds) {
  if (lanes == 0) throw std::invalid_argument("lanes: got 0, expected at least 1");
  if (seconds.size() != edges.size()) {
    throw std::invalid_argument(
        fmt::format("lanes: got the seconds of {} ops, expected {}", seconds.size(), edges.size()));
  }
  return LaneScheduler(edges, seconds, lanes, wake_seconds).run();
}

}  // namespace skyline
