#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "framework/lanes/byte_uses.h"
#include "memory/allocator.h"
#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/step_graph.h"
#include "memory/trace.h"

namespace skyline {

// Decides whether lanes are worth using: alternates steps with and without them, and keeps lanes
// that make a step 15 % shorter.
class LaneTrial {
 public:
  // On lanes, and as many on one lane. The first of each prepares kernels and does not count.
  static constexpr int kSteps = 6;

  // Returns whether the next step runs on lanes.
  bool on_lanes() const noexcept { return decided() ? pays_ : one_lane_.size() >= lanes_.size(); }
  bool decided() const noexcept { return one_lane_.size() == kSteps; }
  // Ends the next step; `seconds` may be divided by the step's known work.
  void add(double seconds);

 private:
  std::vector<double> lanes_, one_lane_;
  bool pays_ = true;
};

// Which op of a step runs on which lane. Training and inference steps are planned separately:
//
//   first step     on lane 0; libraries prepare their kernels
//   next three     on lane 0, timed, and the last of them recorded; the least seconds of each op
//                  count, because caches that are cold, and other programs, only make it slower
//   next three     timed, each op on all lanes
//   next twelve    on lanes and on lane 0 in turns
//   all later      on lanes; on lane 0 if lanes do not pay
//
// On lanes, each op runs on the lane that assign_lanes() gave the recorded op in its place, or on
// all lanes. Once a step differs from the recorded one, its further ops go where they can begin
// first, or on all lanes if that saves more than waiting for them costs, by the seconds of such
// ops.
//
// Nothing but speed depends on these choices.
// Thread rule: one thread, the program's; plan() may run on any thread.
class StepLanes {
 public:
  enum class Step { kFirst, kTimed, kTimedWide, kOnLanes, kOneLane };
  static constexpr int kTimedSteps = 3;  // of both kinds
  static constexpr int kStepsBefore = 1 + 2 * kTimedSteps;
  static constexpr int kStepsToSettle = kStepsBefore + 2 * LaneTrial::kSteps;

  // `wake_seconds`: see assign_lanes(). Without `must_pay` lanes are used even where they are
  // slower.
  explicit StepLanes(std::size_t lanes, double wake_seconds = 0, bool must_pay = false)
      : lanes_(lanes), wake_seconds_(wake_seconds), must_pay_(must_pay) {}

  Step begin(StepKind kind);
  // True if each op of the running step is timed.
  bool is_timed() const noexcept { return step_ == Step::kTimed || step_ == Step::kTimedWide; }
  // An op of a timed step took so long; `shared`: lanes have shared a loop of it.
  void time(OpId op, double seconds, bool shared);
  // Ends a timed step. Ops that were not timed took no time.
  void learn(StepGraph graph);

  // Ends the step: ops outside of steps run on lane 0.
  void end();
  // True if the running step's ops run on lanes.
  bool on_lanes() const noexcept { return now_ != nullptr; }

  // Returns the planned lane of the step's next op. Empty if the step runs on one lane or has left
  // the recorded sequence. Call it for each op of the graph.
  std::optional<LaneId> next(Phase phase, std::string_view op, std::string_view layer);
  // True if the op that next() was asked for last is planned on lane 0, and every op of another
  // lane that comes later in the program begins after it. On idle lanes it may then run at once.
  bool alone() const noexcept { return now_ && !differs_ && place_ > 0 && now_->alone[place_ - 1]; }
  // True if the op that next() was asked for last is wide: it runs once all earlier ops are done.
  bool wide() const noexcept { return wide_; }
  // Returns the lane on which an op can begin first. `before`: the ops that it waits for.
  // `enqueued`: how many ops each lane has got.
  LaneId soonest(Phase phase, std::string_view op, std::string_view layer, const LaneClock& before,
                 const LaneClock& enqueued);

  // True if steps of this kind went back to one lane because lanes do not pay.
  bool gave_up(StepKind kind) const;
  // How many kinds of steps have been recorded.
  std::size_t learned() const;
  // If the blocks of the trace live as those of a recorded step do, whatever their sizes are,
  // returns a plan in which no lane waits for bytes; else plan_apart(). Nothing if lanes have
  // proved to be no faster.
  std::optional<Plan> plan(const Trace& trace) const;

 private:
  // Mean seconds of the ops of a step that have one phase, name and layer; the least of timed
  // steps.
  struct Means {
    double one_lane, wide;  // infinite: not known
  };
  static constexpr Means kUnknown = {std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};
  using MeansOfOps = std::map<std::tuple<Phase, std::string, std::string>, Means, std::less<>>;
  // The recorded step of a kind.
  struct Recorded {
    StepGraph graph;
    LaneSchedule schedule;
    std::vector<bool> alone;         // see alone()
    std::vector<std::size_t> lives;  // by block; see requests_before_free()
    MeansOfOps means;
  };
  struct Kind {
    int steps = 0;
    StepGraph graph;                            // of the last step timed on lane 0
    std::vector<double> seconds, wide_seconds;  // the least of timed steps, by op of the graph
    MeansOfOps means;
    std::shared_ptr<const Recorded> recorded;  // null: not yet
    LaneTrial trial;
  };
  // When lanes are free and ops done, as far as `seconds` tell; since the step left its plan.
  struct Clocks {
    LaneClock first;                        // ops that lanes had got before
    std::vector<std::vector<double>> ends;  // by lane, of its ops since then
  };

  Kind& kind() { return kinds_[kind_]; }
  static void add_means(const StepGraph& graph, std::span<const double> seconds,
                        double Means::*place, MeansOfOps& means);
  static const Means& means_of(const Recorded& recorded, Phase phase, std::string_view op,
                               std::string_view layer);

  std::size_t lanes_;
  double wake_seconds_;
  bool must_pay_;
  std::map<StepKind, Kind> kinds_;
  StepKind kind_ = StepKind::kTraining;
  Step step_ = Step::kFirst;     // the running one
  std::vector<double> seconds_;  // of its ops, if they are timed
  std::vector<bool> shared_;
  mutable std::mutex mutex_;             // of `recorded` and `trial` of all kinds
  std::shared_ptr<const Recorded> now_;  // of the running step; null: on lane 0
  std::size_t place_ = 0;                // of its next op
  bool differs_ = false;
  bool wide_ = false;
  std::chrono::steady_clock::time_point began_;
  double work_ = 0;  // of the running step in a trial, so far: the known seconds of its ops
  Clocks clocks_;
};

}  // namespace skyline
