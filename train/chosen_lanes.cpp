#include "train/chosen_lanes.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "framework/lanes/step_lanes.h"
#include "train/run/now_seconds.h"
#include "train/workload.h"

namespace skyline {
namespace {

// The first steps make kernels, record and plan; only later ones are as fast as the rest of a run.
// Then steps run on lanes and on one lane in turns, and the run goes on in the faster way.
constexpr int kUntimedSteps = StepLanes::kStepsBefore;
constexpr int kLeastTimedSteps = 4, kMostTimedSteps = 50;
constexpr double kTimedSeconds = 0.5;

struct Division {
  std::int64_t lanes, threads;
  bool operator==(const Division&) const = default;
  std::string text() const {
    return fmt::format("{} lane{} of {} thread{}", lanes, lanes == 1 ? "" : "s", threads,
                       threads == 1 ? "" : "s");
  }
};

std::vector<Division> divisions(const TrainOptions& options) {
  const std::int64_t cores = omp_get_num_procs();
  const bool free = options.threads == 0;
  std::vector<Division> result{{1, threads_for(options.model, options.threads)}};
  if (free && result.front().threads > 1) result.push_back({1, 1});
  for (std::int64_t lanes = 2; lanes <= cores; lanes *= 2) {
    const std::int64_t threads = free ? cores / lanes : options.threads;
    if (lanes * threads <= cores) result.push_back({lanes, threads});
  }
  return result;
}

TrainOptions with(TrainOptions options, const Division& division) {
  options.device.lanes = division.lanes;
  options.threads = division.threads;
  return options;
}

// Nothing of the trial reaches the run: it has its own engine choices and says nothing.
double step_seconds(TrainOptions options) {
  options.device.engines = std::make_shared<EngineChoices>(*options.device.engines);
  std::ostringstream unseen;
  Console silent(unseen, {});
  const std::unique_ptr<Workload> workload = make_workload(options, silent);
  workload->prepare();
  const std::unique_ptr<ModelRun> run = workload->on(options.memory, Mode::kTraining);
  run->seek({}, options.data.seed);
  std::optional<double> least;
  double sum = 0;
  for (int step = 1; step <= kUntimedSteps + kMostTimedSteps; ++step) {
    const double started = now_seconds();
    run->next();
    run->step({.learning_rate = 0, .step = step});
    if (step <= kUntimedSteps) continue;
    const double seconds = now_seconds() - started;
    least = std::min(seconds, least.value_or(seconds));
    sum += seconds;
    if (step >= kUntimedSteps + kLeastTimedSteps && sum >= kTimedSeconds) break;
  }
  return *least;
}

}  // namespace

TrainOptions with_chosen_lanes(TrainOptions options, Console& console) {
  if (options.device.lanes != 0) return options;
  std::vector<std::string> texts;
  std::optional<Division> best;
  double best_seconds = 0;
  for (const Division& division : divisions(options)) {
    const double seconds = step_seconds(with(options, division));
    texts.push_back(fmt::format("{} {:.2f} ms", division.text(), 1e3 * seconds));
    if (best && seconds >= best_seconds) continue;
    best = division;
    best_seconds = seconds;
  }
  console.say(
      fmt::format("--lanes auto: {} a step; takes {}", fmt::join(texts, ", "), best->text()));
  return with(std::move(options), *best);
}

}  // namespace skyline
