// Training steps of the paper's networks on a CUDA device under several allocators: images or words
// a second, peak device memory, host time in allocation, the fraction of the card's matrix-product
// peak, and where the time of a step goes.
//
//   cuda_step_benchmark [MODEL…] [--batches B,…] [--allocators A,…] [--steps N] [--tf32]
//                       [--deterministic] [--profile]
//
// Rates are of N steps after three that warm up (and, for `planned`, record and plan). The card's
// peak is a product of 8192^3 in the same precision and run; FLOP of LSTMs are not counted.
//
//   cuda_step_benchmark MODEL --serve --batches B
//
// reads one line after the other and answers each by the seconds of a planned step and its peak
// reserved bytes: so that pytorch_step.py can take turns with it. First it tells the batch size,
// the number of parameters and, of sentences, both sides' lengths.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "models/models.h"
#include "tests/benchmarks/cuda_arm.h"
#include "tests/benchmarks/observed_ops.h"
#include "train/sizes.h"
#include "train/table.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpSteps = 3;
constexpr std::size_t kProfileRows = 12;

struct Options {
  std::vector<std::string> models = {"alexnet", "googlenet", "resnet50", "inception-resnet",
                                     "seq2seq"};
  std::vector<std::int64_t> batches = {32, 64, 128};
  std::vector<std::string> allocators = {"planned", "best-fit-pool", "caching", "network-wise",
                                         "cuda-async"};
  int steps = 20;
  CudaOptions cuda;
  bool profile = false;
  bool serve = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds on the device by op: each is waited for, so that their sum exceeds a step's time.
class DeviceProfile final : public OpObserver {
 public:
  explicit DeviceProfile(Compute& compute) : compute_(compute) {}

  void executing(std::span<const Tensor>) override {
    compute_.wait();
    start_ = Clock::now();
  }
  void executed(ExecutedOp op) override {
    compute_.wait();
    seconds_[op.name] += seconds_since(start_);
    flop_ += 2.0 * static_cast<double>(multiply_adds(op));
  }

  double flop() const noexcept { return flop_; }
  void print() const {
    std::vector<std::pair<std::string, double>> rows(seconds_.begin(), seconds_.end());
    std::ranges::sort(rows, std::greater(), &std::pair<std::string, double>::second);
    double sum = 0;
    for (const auto& [name, seconds] : rows) sum += seconds;
    rows.resize(std::min(rows.size(), kProfileRows));
    for (const auto& [name, seconds] : rows) {
      fmt::print("  {:32} {:9.3f} ms  {:5.1f} %\n", name, 1e3 * seconds, 100 * seconds / sum);
    }
  }

 private:
  Compute& compute_;
  Clock::time_point start_;
  std::map<std::string, double> seconds_;
  double flop_ = 0;
};

double seconds_a_step(CudaArm& arm, int steps) {
  Compute& compute = arm.workplace().context.compute();
  compute.wait();
  const auto start = Clock::now();
  for (int i = 0; i < steps; ++i) arm.step();
  compute.wait();
  return seconds_since(start) / steps;
}

// FLOP of one step, which is printed by op where that was asked for.
double profile_step(CudaArm& arm, bool print) {
  DeviceProfile profile(arm.workplace().context.compute());
  arm.step();
  if (print) profile.print();
  return profile.flop();
}

void measure(const std::string& model, std::int64_t batch, const Options& options, double peak) {
  Table table({{"memory from", Align::kLeft},
               {"step"},
               {items_of(model) + "/s"},
               {"of peak"},
               {"reserved"},
               {"in allocation"}});
  fmt::print("{}, batch {}\n", model, batch);
  for (const std::string& name : options.allocators) {
    const auto arm = make_cuda_arm(model, batch, name, options.cuda);
    for (int i = 0; i < kWarmUpSteps; ++i) arm->step();
    const double seconds = seconds_a_step(*arm, options.steps);
    const double flop = profile_step(*arm, options.profile && name == options.allocators.front());
    table.add_row({name, fmt::format("{:.3f} ms", 1e3 * seconds),
                   fmt::format("{:.1f}", arm->items() / seconds),
                   model == "seq2seq" ? "" : fmt::format("{:.1f} %", 100 * flop / seconds / peak),
                   format_bytes(arm->reserved_bytes()),
                   fmt::format("{:.3f} ms", 1e3 * arm->allocation_seconds())});
  }
  fmt::print("{}\n", table.str());
  std::fflush(stdout);
}

void serve(const Options& options) {
  const auto arm = make_cuda_arm(options.models.front(), options.batches.front(),
                                 options.allocators.front(), options.cuda);
  for (int i = 0; i < kWarmUpSteps; ++i) arm->step();
  fmt::print("{} {}{}\n", options.batches.front(), parameter_count(arm->workplace().network()),
             arm->lengths());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print("{:.6f} {}\n", seconds_a_step(*arm, 1), arm->reserved_bytes());
    std::fflush(stdout);
  }
}

Options parse(int count, char** arguments) {
  Options options;
  CLI::App app("Training steps of the paper's networks on a CUDA device");
  app.add_option("models", options.models, "Models, all of the paper's without");
  app.add_option("--batches", options.batches, "Images or sentences a step")->delimiter(',');
  app.add_option("--allocators", options.allocators, "Where memory comes from")->delimiter(',');
  app.add_option("--steps", options.steps, "Steps of each")->check(CLI::PositiveNumber);
  app.add_flag("--tf32", options.cuda.tf32, "Operands of products rounded to 10 bits");
  app.add_flag("--deterministic", options.cuda.deterministic, "The same bits in every run");
  app.add_flag("--profile", options.profile, "Where a step's time goes, by op");
  app.add_flag("--serve", options.serve, "One planned step for each line read");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

void run(const Options& options) {
  if (options.serve) {
    serve(options);
    return;
  }
  const double peak = measure_cuda_peak(options.cuda);
  fmt::print("peak: a product of 8192^3 in {}, {:.1f} TFLOP/s\n\n",
             options.cuda.tf32 ? "TF32" : "fp32", 1e-12 * peak);
  for (const std::string& model : options.models) {
    for (const std::int64_t batch : options.batches) measure(model, batch, options, peak);
  }
}

}  // namespace
}  // namespace skyline

int main(int count, char** arguments) {
  const skyline::Options options = skyline::parse(count, arguments);
  try {
    skyline::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
