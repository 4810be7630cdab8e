#pragma once

#include <cstddef>
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

// Which op of a step runs on which lane. Training and inference steps are planned separately:
//
//   first step   on lane 0; libraries prepare their kernels
//   next three   on lane 0, timed, and the last of them recorded; the least seconds of each op
//   count,
//                because caches that are cold, and other programs, only make it slower
//   from then on each op on the lane that assign_lanes() gave the recorded op in its place. Once a
//                step differs from the recorded one, its further ops go where they can begin first,
//                by the recorded seconds of such ops.
//
// Nothing but speed depends on these choices.
// Thread rule: one thread, the program's; plan() may run on any thread.
class StepLanes {
 public:
  enum class Step { kFirst, kRecorded, kOnLanes };
  static constexpr int kTimedSteps = 3;
  static constexpr int kStepsOnOneLane = 1 + kTimedSteps;

  // `wake_seconds`: see assign_lanes().
  explicit StepLanes(std::size_t lanes, double wake_seconds = 0)
      : lanes_(lanes), wake_seconds_(wake_seconds) {}

  Step begin(StepKind kind);
  // Ends a timed step; `seconds` are those of each op of `graph`.
  void learn(StepGraph graph, std::vector<double> seconds);

  // Ends the step: ops outside of steps run on lane 0.
  void end() noexcept { now_.reset(); }
  // True if the running step's ops run on lanes.
  bool on_lanes() const noexcept { return now_ != nullptr; }

  // Returns the planned lane of the step's next op; nothing if the step differs from the recorded
  // one or is none that runs on lanes. Call it for each op of the graph.
  std::optional<LaneId> next(std::string_view op);
  // True if the op that next() was asked for last is planned on lane 0, and every op of another
  // lane that comes later in the program begins after it. On idle lanes it may then run at once.
  bool alone() const noexcept { return now_ && !differs_ && place_ > 0 && now_->alone[place_ - 1]; }
  // Returns the lane on which an op can begin first. `before`: the ops that it waits for.
  // `enqueued`: how many ops each lane has got.
  LaneId soonest(Phase phase, std::string_view op, std::string_view layer, const LaneClock& before,
                 const LaneClock& enqueued);

  // How many kinds of steps have been recorded.
  std::size_t learned() const;
  // If the blocks of the trace live as those of a recorded step do, whatever their sizes are,
  // returns a plan in which no lane waits for bytes; else plan_apart().
  Plan plan(const Trace& trace) const;

 private:
  // The recorded step of a kind.
  struct Recorded {
    StepGraph graph;
    LaneSchedule schedule;
    std::vector<bool> alone;         // see alone()
    std::vector<std::size_t> lives;  // by block; see requests_before_free()
    // Mean seconds by phase, op and layer.
    std::map<std::tuple<Phase, std::string, std::string>, double, std::less<>> seconds;
  };
  struct Kind {
    int steps = 0;
    std::vector<double> seconds;               // the least of timed steps, by op
    std::shared_ptr<const Recorded> recorded;  // null: not yet
  };
  // When lanes are free and ops done, as far as `seconds` tell; since the step left its plan.
  struct Clocks {
    LaneClock first;                        // ops that lanes had got before
    std::vector<std::vector<double>> ends;  // by lane, of its ops since then
  };

  Kind& kind() { return kinds_[kind_]; }

  std::size_t lanes_;
  double wake_seconds_;
  std::map<StepKind, Kind> kinds_;
  StepKind kind_ = StepKind::kTraining;
  mutable std::mutex mutex_;             // of `recorded` of all kinds
  std::shared_ptr<const Recorded> now_;  // of the running step; null: on lane 0
  std::size_t place_ = 0;                // of its next op
  bool differs_ = false;
  Clocks clocks_;
};

}  // namespace skyline
