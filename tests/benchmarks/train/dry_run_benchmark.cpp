// Times the dry run of the paper's networks and the planning of the recorded step, each against its
// target.
//
//   dry_run_benchmark
//
// The time of a dry run includes making the model and its kernels. It is the first dry run of its
// shape, so oneDNN has nothing cached. The time of planning is the median of five.
#include <fmt/core.h>

#include <chrono>
#include <string>
#include <vector>

#include "memory/planners/registry.h"
#include "models/models.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

constexpr double kDryRunSeconds = 0.5, kPlanSeconds = 0.005;  // the targets

struct Step {
  std::string model;
  Mode mode;
  std::int64_t batch_size;
};

std::vector<Step> steps() {
  std::vector<Step> steps;
  for (const char* model : {"alexnet", "googlenet", "resnet50", "inception-resnet"}) {
    for (const std::int64_t batch : {32, 64, 128}) steps.push_back({model, Mode::kTraining, batch});
    steps.push_back({model, Mode::kInference, 1});
  }
  return steps;
}

// Adds a row for `step`; returns true if both targets are met.
bool measure(const Step& step, Table& table) {
  const auto start = std::chrono::steady_clock::now();
  const DryRunFacts facts = dry_run({.model = step.model,
                                     .shape = find_model(step.model).shape,
                                     .batch_size = step.batch_size,
                                     .mode = step.mode});
  const double dry_run_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<double> seconds;
  Plan found;
  for (int i = 0; i < 5; ++i) {
    found = plan(facts.trace, kDefaultPlanner, {.alignment = kAlignmentBytes});
    seconds.push_back(found.seconds);
  }
  const double plan_seconds = median(seconds).value();
  const bool met = dry_run_seconds <= kDryRunSeconds && plan_seconds <= kPlanSeconds &&
                   found.gap() == 0 && found.proved_optimal;
  table.add_row(
      {step.model, step.mode == Mode::kTraining ? "training" : "inference",
       std::to_string(step.batch_size), std::to_string(facts.trace.size()),
       fmt::format("{:.1f} ms", 1e3 * dry_run_seconds),
       fmt::format("{:.3f} ms", 1e3 * plan_seconds),
       fmt::format("{:.2f} %{}", 100 * found.gap(), found.proved_optimal ? ", proved" : ""),
       found.planner, met ? "met" : "MISSED"});
  return met;
}

}  // namespace
}  // namespace skyline

int main() {
  using namespace skyline;
  Table table("<network | <step | batch | requests | dry run | plan | gap | <planner | <target");
  int missed = 0;
  const std::vector<Step> all = steps();
  for (const Step& step : all) missed += measure(step, table) ? 0 : 1;
  fmt::print("{}\n{} of {} within {:g} ms for the dry run, {:g} ms for a plan of gap 0, proved\n",
             table.str(), all.size() - static_cast<std::size_t>(missed), all.size(),
             1e3 * kDryRunSeconds, 1e3 * kPlanSeconds);
}
