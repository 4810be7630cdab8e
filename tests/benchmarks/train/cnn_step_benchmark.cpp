// Times one training step of the paper's networks under several allocators in turns. Prints images
// and FLOP a second, the fraction of this machine's matrix-product peak (measured in the same run),
// and the bytes that each allocator reserves.
//
//   cnn_step_benchmark [MODEL…] [--batch B] [--steps N] [--threads T] [--allocators A,…]
//                      [--recompute DEPTH] [--orders O,…] [--engines E,…] [--fused-update]
//
// --recompute adds one more training, planned, that recomputes chains of cheap ops in backward.
// --orders adds one planned training for each order, --engines for direct or measured engines of
// convolutions (all others: by shape). --fused-update concerns all trainings.
// Seconds are medians of N steps after two warm-up steps (in which `planned` records and plans).
// FLOP count 2 for each multiply-add of convolutions and matrix products, forward and backward. The
// gradient of the images is neither computed nor counted.
//
//   cnn_step_benchmark MODEL --serve
//
// answers each line of input with the seconds of one planned step, so pytorch_step.py can take
// turns with it, and the end of input with a step's FLOP, this machine's peak and instructions. The
// model may be seq2seq, too: three layers of 256 units and sentences of 20 words; gpt-small with 12
// windows; or chain: relus of one element and their gradients, whose time is what the framework
// does for an op.
#include <fmt/format.h>
#include <omp.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "framework/ops/activation/activations.h"
#include "memory/session/session.h"
#include "tests/benchmarks/framework/matrix_peak.h"
#include "tests/benchmarks/framework/observed_ops.h"
#include "tests/benchmarks/run_benchmark.h"
#include "tests/benchmarks/train/timed_training.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"
#include "train/text/text_run.h"
#include "train/translation/translation_run.h"

namespace skyline {
namespace {

constexpr int kWarmUpSteps = 2;

struct Options {
  std::vector<std::string> models = {"alexnet", "googlenet", "resnet50", "inception-resnet"};
  std::vector<std::string> allocators = {"planned", "best-fit-pool", "network-wise", "malloc"};
  int batch = 0;  // 0: usual_batch_size()
  int steps = 5;
  int threads = omp_get_num_procs();
  int recompute = 0;
  std::vector<std::string> orders, engines;
  bool fused_update = false;
  bool serve = false;
};

template <typename Step>
double count_flop(const Step& step) {
  OpLog log;
  step();
  const std::vector<ExecutedOp> ops = log.take();
  return flop(ops);
}

void print_table(const std::vector<std::unique_ptr<TimedTraining>>& trainings,
                 const std::vector<std::vector<double>>& seconds, const Batch& batch,
                 double step_flop, double peak) {
  Table table("<memory from | <order | recompute | step | images/s | GFLOP/s | of peak | reserved");
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    const double step = median(seconds[i]).value();
    table.add_row({trainings[i]->name(), trainings[i]->step_options().order,
                   std::to_string(trainings[i]->step_options().recompute),
                   fmt::format("{:.1f} ms", 1e3 * step),
                   fmt::format("{:.2f}", static_cast<double>(batch.size) / step),
                   fmt::format("{:.1f}", 1e-9 * step_flop / step),
                   fmt::format("{:.1f} %", 100 * step_flop / step / peak),
                   format_bytes(trainings[i]->reserved_bytes())});
  }
  fmt::print("{}\n", table.str());
}

void measure(const std::string& model, const Options& options, MatrixPeak& peak) {
  const ModelEntry& entry = find_model(model);
  const Batch batch =
      noise_batch(entry.shape, options.batch > 0 ? options.batch : usual_batch_size(model));
  const StepOptions step{.fused_update = options.fused_update};
  std::vector<std::unique_ptr<TimedTraining>> trainings;
  for (const std::string& name : options.allocators) {
    trainings.push_back(std::make_unique<TimedTraining>(name, entry, step));
  }
  if (options.recompute > 0) {
    StepOptions frugal = step;
    frugal.recompute = options.recompute;
    trainings.push_back(std::make_unique<TimedTraining>("planned", entry, frugal));
  }
  for (const std::string& order : options.orders) {
    StepOptions ordered = step;
    ordered.order = order;
    trainings.push_back(std::make_unique<TimedTraining>("planned", entry, ordered));
  }
  for (const std::string& engines : options.engines) {
    trainings.push_back(std::make_unique<TimedTraining>(
        "planned", entry, step,
        engines == "direct" ? CpuOptions::Engines::kDirect : CpuOptions::Engines::kMeasured));
    trainings.back()->rename("planned, " + engines);
  }
  for (const auto& training : trainings) {
    for (int i = 0; i < kWarmUpSteps; ++i) training->step(batch);
  }
  const double step_flop = count_flop([&] { trainings.front()->step(batch); });
  std::vector<std::vector<double>> seconds(trainings.size());
  for (int i = 0; i < options.steps; ++i) {
    for (std::size_t training = 0; training < trainings.size(); ++training) {
      seconds[training].push_back(trainings[training]->step(batch));
    }
  }
  peak.improve(measure_matrix_peak());
  fmt::print("{}, batch {}, {:.1f} GFLOP a step, peak {:.1f} GFLOP/s\n", model, batch.size,
             1e-9 * step_flop, 1e-9 * peak.product);
  print_table(trainings, seconds, batch, step_flop, peak.product);
  std::fflush(stdout);
}

template <typename Step>
void answer_lines(const Step& step) {
  for (int i = 0; i < kWarmUpSteps; ++i) step();
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print("{:.9f}\n", step());
    std::fflush(stdout);
  }
  const double flop = count_flop(step);
  fmt::print("{:.0f} {:.0f} {}\n", flop, measure_matrix_peak().product, instructions());
}

// Prints the number of relus, and of parameters.
void serve_chain() {
  constexpr int kOps = 500;
  CpuDevice device;
  Session session(device);
  Context context(session, {});
  const float one = 1;
  const Parameter x = make_parameter(context, {Shape{1}}, "x", &one);
  fmt::print("{} 1\n", kOps);
  answer_lines([&] {
    const auto start = std::chrono::steady_clock::now();
    context.begin_step(training_key(1));
    Tensor y = x.value;
    for (int op = 0; op < kOps; ++op) y = relu(context, std::move(y));
    backward(context, std::move(y));
    context.end_step();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
}

// Prints the batch, the parameters, the lengths of both sides, and the size of the network.
void serve_translation(const Options& options) {
  constexpr std::int64_t kWords = 1000, kUnits = 256;
  constexpr std::int32_t kSentenceWords = 20;
  const std::vector<std::int32_t> lengths(
      static_cast<std::size_t>(options.batch > 0 ? options.batch : 32), kSentenceWords);
  const std::vector<std::int32_t> answers(lengths.size(), kSentenceWords + 1);  // with the end
  TranslationRun run(
      {}, {.compute = std::make_shared<CpuCompute>(CpuOptions{})},
      {.shape = {
           .source_words = kWords, .target_words = kWords, .units = kUnits, .embedding = kUnits}});
  const PairBatch batch = batch_of_lengths(lengths, lengths);
  fmt::print("{} {} {} {} {} {}\n", lengths.size(), parameter_count(run.model),
             fmt::join(lengths, ","), fmt::join(answers, ","), kWords, kUnits);
  std::int64_t steps = 0;
  answer_lines([&] {
    const auto start = std::chrono::steady_clock::now();
    run.train_step(batch, {.learning_rate = 1e-3f, .step = ++steps});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
}

// Prints the batch and the parameters.
void serve_gpt(const GptEntry& entry, const Options& options) {
  TextRun run({}, {.compute = std::make_shared<CpuCompute>(CpuOptions{})},
              {.shape = entry.shape,
               .length = static_cast<std::size_t>(entry.shape.positions),
               .optimizer = {.name = "adamw",
                             .weight_decay = static_cast<float>(entry.training.weight_decay),
                             .beta2 = static_cast<float>(entry.training.beta2),
                             .clip = static_cast<float>(entry.training.clip)}});
  run.take_empty_batch(options.batch > 0 ? options.batch : 12);
  fmt::print("{} {}\n", run.batches()[0].windows, parameter_count(run.model));
  std::int64_t steps = 0;
  answer_lines([&] {
    const auto start = std::chrono::steady_clock::now();
    run.train_step({.learning_rate = 1e-3f, .step = ++steps});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
}

void serve(const std::string& model, const Options& options) {
  if (const GptEntry* const gpt = find_gpt(model)) return serve_gpt(*gpt, options);
  if (model == kSeq2Seq) return serve_translation(options);
  if (model == "chain") return serve_chain();
  const ModelEntry& entry = find_model(model);
  const Batch batch =
      noise_batch(entry.shape, options.batch > 0 ? options.batch : usual_batch_size(model));
  TimedTraining training(options.allocators.front(), entry);
  fmt::print("{} {}\n", batch.size, parameter_count(training.model()));
  answer_lines([&] { return training.step(batch); });
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("models", options.models, "Models (default: the paper's CNNs)");
  app.add_option("--allocators", options.allocators, "Allocators to compare")->delimiter(',');
  app.add_option("--batch", options.batch, "Images per step")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "Timed steps per allocator")->check(CLI::PositiveNumber);
  app.add_option("--recompute", options.recompute,
                 "Add a planned training with this recomputation depth")
      ->check(CLI::PositiveNumber);
  app.add_option("--orders", options.orders, "Add planned trainings in these orders")
      ->delimiter(',');
  app.add_option("--engines", options.engines, "Add planned trainings with these engines")
      ->delimiter(',')
      ->check(CLI::IsMember({"direct", "measured"}));
  app.add_flag("--fused-update", options.fused_update, "No gradient is resident");
  app.add_option("--threads", options.threads, "OpenMP threads")->check(CLI::PositiveNumber);
  app.add_flag("--serve", options.serve, "Run one planned step per line of input");
}

void run(const Options& options) {
  omp_set_num_threads(options.threads);
  if (options.serve) return serve(options.models.front(), options);
  for (const std::string& model : options.models) find_model(model);  // throws before anything runs
  MatrixPeak peak = measure_matrix_peak();
  fmt::print(
      "{} threads, {}; peak: fastest 2048^3 matrix product so far, {:.1f} GFLOP/s; multiply-adds "
      "in "
      "registers: {:.1f}\n\n",
      options.threads, instructions(), 1e-9 * peak.product, 1e-9 * peak.multiply_adds);
  for (const std::string& model : options.models) measure(model, options, peak);
}

}  // namespace
}  // namespace skyline

int main(int count, char** arguments) {
  return skyline::run_benchmark(count, arguments,
                                "One training step of the paper's networks on the CPU",
                                skyline::add_options, skyline::run);
}
