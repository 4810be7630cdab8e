// Separate from workload.h, so that the interface depends on neither of its implementations.

#include <algorithm>
#include <limits>
#include <sstream>

#include "framework/lanes/step_lanes.h"
#include "framework/ranks/rank_group.h"
#include "memory/now_seconds.h"
#include "models/gpt.h"
#include "train/decide/decide.h"
#include "train/decide/live_parts.h"
#include "train/options/train_options.h"
#include "train/run/model_run.h"
#include "train/run/use_threads.h"
#include "train/workload.h"

namespace skyline {
namespace {

// The first steps make kernels, record and plan; only later ones are as fast as the rest of a run.
// Then steps run on lanes and on one lane in turns, and the run goes on in the faster way.
constexpr int kUntimedSteps = StepLanes::kStepsBefore;
constexpr int kLeastTimedSteps = 4, kMostTimedSteps = 50;
constexpr double kTimedSeconds = 0.5;

std::unique_ptr<Workload> make_workload(const TrainOptions& options, const LiveParts& live,
                                        Console& console) {
  const auto make = translates(options)       ? translation_workload
                    : find_gpt(options.model) ? text_workload
                                              : image_workload;
  return make(options, live, console);
}

// A workload of other options, of which nothing reaches the run: it has its own data and engine
// choices, and says nothing.
struct ApartWorkload {
  ApartWorkload(TrainOptions given, LiveParts parts)
      : options(std::move(given)), live(std::move(parts)) {
    live.engines = std::make_shared<EngineChoices>(*live.engines);
    workload = make_workload(options, live, silent);
  }

  TrainOptions options;
  LiveParts live;
  std::ostringstream unseen;
  Console silent{unseen, {}};
  std::unique_ptr<Workload> workload;
};

class WorkloadProbe final : public StepProbe {
 public:
  WorkloadProbe(const TrainOptions& options, const LiveParts& live, Workload& workload)
      : options_(options), live_(live), workload_(workload) {}
  explicit WorkloadProbe(std::unique_ptr<ApartWorkload> apart)
      : WorkloadProbe(apart->options, apart->live, *apart->workload) {
    apart_ = std::move(apart);
  }

  StepTrial dry_step(const StepDecisions& decisions) override {
    return workload_.dry_step(decisions);
  }

  bool may_divide() const override { return !live_.keeps_batches; }

  std::unique_ptr<StepProbe> divided(std::int64_t parts) override {
    TrainOptions options = options_;
    options.batch_size /= parts;
    options.step.micro_batches *= parts;
    return std::make_unique<WorkloadProbe>(
        std::make_unique<ApartWorkload>(std::move(options), live_));
  }

  double timed_step(const StepDecisions& decisions) override {
    const ApartWorkload apart(options_, live_);
    apart.workload->prepare();
    const std::unique_ptr<ModelRun> run =
        apart.workload->on(decisions, options_.memory, Mode::kTraining);
    run->seek({}, options_.data.seed);
    double least = std::numeric_limits<double>::infinity(), sum = 0;
    for (int step = 1; step <= kUntimedSteps + kMostTimedSteps; ++step) {
      const double started = now_seconds();
      run->next();
      run->train_step({.learning_rate = 0, .step = step});
      if (step <= kUntimedSteps) continue;
      const double seconds = now_seconds() - started;
      least = std::min(seconds, least);
      sum += seconds;
      if (step >= kUntimedSteps + kLeastTimedSteps && sum >= kTimedSeconds) break;
    }
    return least;
  }

 private:
  const TrainOptions& options_;
  const LiveParts& live_;
  Workload& workload_;
  std::unique_ptr<ApartWorkload> apart_;  // null: the run's workload
};

}  // namespace

std::unique_ptr<ModelRun> Workload::on(const StepDecisions& decisions, const MemoryOptions& memory,
                                       Mode mode) {
  return on(decisions, memory, mode, {});
}

DecidedWorkload decided_workload(const TrainOptions& options, const LiveParts& live,
                                 Console& console) {
  const std::size_t ranks_here = live.group ? live.group->ranks_here() : 1;
  const StepDecisions said = as_said(options, ranks_here);
  warn_of_threads(said.threads * said.lanes, console);
  use_threads(said.threads);
  DecidedWorkload decided{.workload = make_workload(options, live, console), .decisions = {}};
  WorkloadProbe probe(options, live, *decided.workload);
  decided.decisions = decide(options, ranks_here, probe, console);
  if (decided.decisions.budget) console.say(decided.decisions.budget->text());
  return decided;
}

}  // namespace skyline
