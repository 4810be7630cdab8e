// Compares a training step with a bare loop over the same oneDNN primitives in the same run, and
// shows where its time goes, op by op.
//
//   bare_step_benchmark [MODEL…] [--batch B] [--steps N] [--threads T] [--layers] [--rows N]
//
// Ours: a planned step. Bare: the step's ops as oneDNN primitives made directly, channels-last,
// over the same addresses, with weights kept in the primitives' preferred layouts, so without our
// reorders. The second bare loop stores weights plain and reorders them for every use, like ours.
// Both leave out uploads and the framework. Steps run in turns; seconds are medians.
#include <fmt/core.h>
#include <omp.h>

#include <string>
#include <vector>

#include "tests/benchmarks/bare/bare_step.h"
#include "tests/benchmarks/framework/matrix_peak.h"
#include "tests/benchmarks/framework/op_profile.h"
#include "tests/benchmarks/run_benchmark.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

constexpr int kWarmUpSteps = 2;

struct Options {
  std::vector<std::string> models = {"resnet50"};
  int batch = 0;  // 0: the usual batch
  int steps = 7;
  int threads = omp_get_num_procs();
  bool layers = false;
  std::size_t rows = 25;
};

// Seconds of each loop, one a step.
struct Seconds {
  std::vector<double> ours, bare, reordered;
};

std::vector<ExecutedOp> observed_step(TimedTraining& training, const Batch& batch) {
  OpLog log;
  training.step(batch);
  return log.take();
}

void print_ratios(const Seconds& seconds, double step_flop, double peak) {
  Table table("<loop | step | GFLOP/s | of peak | bare : this");
  const double bare = median(seconds.bare).value();
  const auto add = [&](const std::string& name, const std::vector<double>& samples) {
    const double step = median(samples).value();
    table.add_row({name, fmt::format("{:.1f} ms", 1e3 * step),
                   fmt::format("{:.1f}", 1e-9 * step_flop / step),
                   fmt::format("{:.1f} %", 100 * step_flop / step / peak),
                   fmt::format("{:.3f}", bare / step)});
  };
  add("bare primitives", seconds.bare);
  add("bare, weights reordered", seconds.reordered);
  add("ours, planned", seconds.ours);
  fmt::print("{}\n", table.str());
}

void measure(const std::string& model, const Options& options, MatrixPeak& peak) {
  const ModelEntry& entry = find_model(model);
  const Batch batch =
      noise_batch(entry.shape, options.batch > 0 ? options.batch : usual_batch_size(model));
  TimedTraining training("planned", entry);
  for (int i = 0; i < kWarmUpSteps; ++i) training.step(batch);
  const StepRecording recording = record_step(training, batch);
  BareStep bare(recording, BareWeights::kInPlace);
  BareStep reordered(recording, BareWeights::kReordered);
  bare.run();
  reordered.run();
  OpProfile profile(
      [&](const ExecutedOp& op) { return options.layers ? op.name + " of " + op.layer : op.name; });
  Seconds seconds;
  for (int i = 0; i < options.steps; ++i) {
    seconds.ours.push_back(training.step(batch));
    seconds.bare.push_back(bare.run());
    seconds.reordered.push_back(reordered.run());
    profile.add(observed_step(training, batch), bare.seconds());
  }
  peak.improve(measure_matrix_peak());
  const double step_flop = flop(recording.ops);
  fmt::print("{}, batch {}, {:.1f} GFLOP a step, peak {:.1f} GFLOP/s\n", model, batch.size,
             1e-9 * step_flop, 1e-9 * peak.product);
  print_ratios(seconds, step_flop, peak.product);
  fmt::print("{}\n", profile.str(median(seconds.ours).value(), options.rows));
  std::fflush(stdout);
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("models", options.models, "Models, resnet50 without");
  app.add_option("--batch", options.batch, "Images a step")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "Steps of each")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "OpenMP's threads")->check(CLI::PositiveNumber);
  app.add_flag("--layers", options.layers, "A row for each op of each layer");
  app.add_option("--rows", options.rows, "The most rows of a profile");
}

void run(const Options& options) {
  for (const std::string& model : options.models) find_model(model);  // throws before anything runs
  omp_set_num_threads(options.threads);
  MatrixPeak peak = measure_matrix_peak();
  fmt::print(
      "{} threads; peak: the best matrix product 2048^3 so far, now {:.1f} GFLOP/s; "
      "multiply-adds on registers {:.1f}\n\n",
      options.threads, 1e-9 * peak.product, 1e-9 * peak.multiply_adds);
  for (const std::string& model : options.models) measure(model, options, peak);
}

}  // namespace
}  // namespace skyline

int main(int count, char** arguments) {
  return skyline::run_benchmark(count, arguments,
                                "A training step against a bare loop over the same primitives",
                                skyline::add_options, skyline::run);
}
