// Times training steps on one lane and on several, in turns.
//
//   lanes_benchmark [NETWORK…] [--lanes N] [--turns N] [--steps N] [--allocator A]
//
// A step's time includes the wait for its batch and, for text, its plan.
//
// For each network: one lane of 1 thread, one of N threads, N lanes of 1 thread and of N, all as
// `train` runs them. A turn is some steps on the same batches; a row's time is the median over all
// its steps after those in which lanes learn, `per turn` the median of each turn's median over that
// of one lane of 1 thread in the same turn, which other programs on the machine disturb less.
// `waits` are those of an op for an op of another lane, in a step. seq2seq-unrolled is seq2seq
// --unroll.
#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "framework/lanes/lane_runner.h"
#include "memory/now_seconds.h"
#include "tests/benchmarks/run_benchmark.h"
#include "tests/train/decided_run.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/console.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

constexpr int kUntimedSteps = StepLanes::kStepsToSettle + 5;
constexpr const char* kUnrolled = "seq2seq-unrolled";

struct Options {
  std::vector<std::string> networks = {"mlp",       "lenet",   "resnet20",
                                       "googlenet", "seq2seq", kUnrolled};
  std::int64_t lanes = omp_get_num_procs();
  int turns = 10, steps = 5;
  std::string allocator{kPlannedAllocator};
};

class LaneTraining {
 public:
  LaneTraining(const std::string& network, std::int64_t lanes, std::int64_t threads,
               const Options& options, Console& console)
      : lanes_(lanes), threads_(threads) {
    TrainOptions train;
    train.model = network == kUnrolled ? "seq2seq" : network;
    train.text.unroll = network == kUnrolled;
    train.text.pairs = 2000;
    train.batch_size = network == "googlenet" ? 16 : 32;
    train.data.images = 4 * train.batch_size;
    train.threads = threads;
    train.device.lanes = lanes;
    train.memory.allocator = options.allocator;
    train = resolved(train);
    decided_ = decided_workload(train, {}, console);
    decided_.workload->prepare();
    run_ = tests::run_on(decided_, train.memory);
    run_->seek({}, 0);
    for (int i = 0; i < kUntimedSteps; ++i) step();
    steps_.clear();
  }

  void step() {
    omp_set_num_threads(static_cast<int>(threads_));
    const double started = now_seconds();
    run_->next();
    run_->train_step({.learning_rate = 1e-3f, .step = ++number_});
    steps_.push_back(now_seconds() - started);
  }

  void end_turn() {
    turns_.push_back(median(steps_).value());
    all_.insert(all_.end(), steps_.begin(), steps_.end());
    steps_.clear();
  }

  std::string name() const { return fmt::format("{} x {}", lanes_, threads_); }
  const std::vector<double>& turns() const { return turns_; }
  double seconds() const { return median(all_).value(); }
  std::uint64_t reserved_bytes() const { return run_->memory.device().statistics().reserved_bytes; }
  // Waits of an op for another lane's, of all steps so far, by step.
  double waits() {
    LaneRunner* const lanes = lane_runner(run_->context.compute());
    return lanes == nullptr ? 0 : static_cast<double>(lanes->queue().waits()) / number_;
  }

 private:
  std::int64_t lanes_, threads_;
  DecidedWorkload decided_;
  std::unique_ptr<ModelRun> run_;
  int number_ = 0;
  std::vector<double> steps_, turns_, all_;
};

void measure(const std::string& network, const Options& options, Console& console) {
  std::vector<std::unique_ptr<LaneTraining>> trainings;
  for (const auto& [lanes, threads] : {std::pair{std::int64_t{1}, std::int64_t{1}},
                                       {1, options.lanes},
                                       {options.lanes, 1},
                                       {options.lanes, options.lanes}}) {
    trainings.push_back(std::make_unique<LaneTraining>(network, lanes, threads, options, console));
  }
  for (int turn = 0; turn < options.turns; ++turn) {
    for (const auto& training : trainings) {
      for (int i = 0; i < options.steps; ++i) training->step();
      training->end_turn();
    }
  }
  Table table("<lanes x threads | step | per turn | waits | reserved");
  for (const auto& training : trainings) {
    std::vector<double> shares;
    for (std::size_t turn = 0; turn < training->turns().size(); ++turn) {
      shares.push_back(training->turns()[turn] / trainings.front()->turns()[turn]);
    }
    table.add_row({training->name(), fmt::format("{:.2f} ms", 1e3 * training->seconds()),
                   fmt::format("{:.3f}", median(shares).value()),
                   fmt::format("{:.0f}", training->waits()),
                   format_bytes(training->reserved_bytes())});
  }
  fmt::print("{}\n{}\n", network, table.str());
  std::fflush(stdout);
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("networks", options.networks, "Networks (default: all six)");
  app.add_option("--lanes", options.lanes, "Lanes, and threads of one lane");
  app.add_option("--turns", options.turns, "Turns of each training")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "Steps of a turn")->check(CLI::PositiveNumber);
  app.add_option("--allocator", options.allocator, "Where memory comes from");
}

void run(const Options& options) {
  Console console(std::cerr, {});
  console.be_quiet();
  for (const std::string& network : options.networks) measure(network, options, console);
}

}  // namespace
}  // namespace skyline

int main(int count, char** arguments) {
  return skyline::run_benchmark(count, arguments, "Training steps on one lane and on several",
                                skyline::add_options, skyline::run);
}
