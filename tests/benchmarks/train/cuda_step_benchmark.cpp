// Times training steps of the paper's networks on a CUDA device under several allocators. Prints
// images or words a second, reserved memory, host time in allocation, the fraction of the card's
// matrix-product peak, and the time of each op; first, the cost of mapping memory and of an upload.
//
//   cuda_step_benchmark [MODEL…] [--batches B,…] [--allocators A,…] [--steps N] [--tf32]
//                       [--deterministic] [--profile] [--recompute DEPTH] [--fused-update]
//                       [--prefetch] [--graph] [--engines heuristics|measured]
//                       [--write-engines FILE] [--peak-extent N]
//
// --recompute and --fused-update add one planned training with both, --prefetch adds another; these
// are for image networks only. With --graph, rows say what a step launched: graphs, and ops one by
// one. With --engines measured, each timed engine of a convolution gets a line, "candidate: …", see
// TimedEngines::str(). --write-engines keeps the choices, as a run's engines.json does.
// Rates are means of N steps after three warm-up steps (in which `planned` records and plans). All
// allocators run the same engines. Reserved bytes are those the allocator holds after these steps.
// The card's peak is an N^3 product (default: 8192^3) in the same precision and run. A line beside
// it has the time of a product of 49 N x 64 and 64 x 256 without workspace, another with 32 MiB.
// FLOP of LSTMs are not counted. A failed measurement leaves its figures empty and makes the exit
// code 1; running out of memory is a result. A failed call of CUDA ends the program: what follows
// would fail, too.
//
//   cuda_step_benchmark MODEL --serve --batches B [--recompute DEPTH] [--fused-update] [--prefetch]
//                       [--graph] [--engines heuristics|measured] [--write-engines FILE]
//
// answers each line of input, a number of planned steps, with the mean seconds of one step, the
// reserved bytes and with --graph the last step's graphs, so pytorch_step.py can take turns with
// it. Its first line holds the batch size, the number of parameters and, for seq2seq, the sentence
// lengths of both sides. Candidates then go to standard error.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/cuda/cuda_error.h"
#include "memory/device/devices.h"
#include "memory/device/out_of_memory.h"
#include "models/models.h"
#include "tests/benchmarks/framework/observed_ops.h"
#include "tests/benchmarks/run_benchmark.h"
#include "tests/benchmarks/train/cuda_training.h"
#include "train/checkpoints/files.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpSteps = 3;
constexpr std::size_t kProfileRows = 15;
constexpr std::string_view kTranslation = "seq2seq";

struct Options {
  std::vector<std::string> models = {"alexnet", "googlenet", "resnet50", "inception-resnet",
                                     "seq2seq"};
  std::vector<std::int64_t> batches;  // empty: batches_of() chooses
  std::vector<std::string> allocators = {"planned", "best-fit-pool", "caching", "network-wise",
                                         "cuda-async"};
  int steps = 20;
  std::size_t peak_extent = 8192;
  CudaOptions cuda;
  std::string engines = "heuristics";
  std::string engines_file;  // to be written; empty: none
  int recompute = 0;
  bool fused_update = false;
  bool prefetch = false;
  bool profile = false;
  bool serve = false;
};

std::vector<std::int64_t> batches_of(const std::string& model, const Options& options) {
  if (!options.batches.empty()) return options.batches;
  if (model == kTranslation) return {32, 64, 128, 256};
  return {32, 64, 128};
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Measures device seconds by op. It waits for every op, so the sum exceeds a step's time.
class DeviceProfile final : public OpObserver {
 public:
  explicit DeviceProfile(Compute& compute) : compute_(compute) {}

  void executing(std::span<const Tensor>) override {
    compute_.wait();
    start_ = Clock::now();
  }
  void executed(ExecutedOp op) override {
    compute_.wait();
    Share& share = shares_[op.name];
    share.seconds += seconds_since(start_);
    ++share.calls;
    flop_ += 2.0 * static_cast<double>(multiply_adds(op));
  }

  double flop() const noexcept { return flop_; }
  std::string str() const;

 private:
  struct Share {
    double seconds = 0;
    int calls = 0;
    Share& operator+=(const Share& other) {
      seconds += other.seconds;
      calls += other.calls;
      return *this;
    }
  };

  Compute& compute_;
  Clock::time_point start_;
  std::map<std::string, Share> shares_;
  double flop_ = 0;
};

std::string DeviceProfile::str() const {
  std::vector<std::pair<std::string, Share>> rows(shares_.begin(), shares_.end());
  std::ranges::sort(rows, std::greater(), [](const auto& row) { return row.second.seconds; });
  Share all, others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all += rows[i].second;
    if (i >= kProfileRows) others += rows[i].second;
  }
  rows.resize(std::min(rows.size(), kProfileRows));
  if (others.calls > 0) rows.emplace_back("others", others);
  rows.emplace_back("all ops, each waited for", all);
  Table table("<op | calls | device | share");
  for (const auto& [name, share] : rows) {
    table.add_row({name, std::to_string(share.calls), fmt::format("{:.3f} ms", 1e3 * share.seconds),
                   fmt::format("{:.1f} %", 100 * share.seconds / all.seconds)});
  }
  return table.str();
}

// Means over the timed steps, in seconds.
struct MeasuredSteps {
  double seconds = 0;
  double in_allocation = 0;  // host time
  Launches launches;         // of the last step
};

MeasuredSteps measured_steps(CudaTraining& training, int steps) {
  Compute& compute = training.run().context.compute();
  MeasuredSteps measured;
  Launches before;
  compute.wait();
  const auto start = Clock::now();
  for (int i = 0; i < steps; ++i) {
    before = compute.runner().facts().launches;
    training.step();
    measured.in_allocation += training.allocation_seconds() / steps;
  }
  compute.wait();
  measured.seconds = seconds_since(start) / steps;
  measured.launches = {.ops = compute.runner().facts().launches.ops - before.ops,
                       .graphs = compute.runner().facts().launches.graphs - before.graphs};
  return measured;
}

// Returns the FLOP of one step. Prints its ops by time if `print`.
double profile_step(CudaTraining& training, bool print) {
  DeviceProfile profile(training.run().context.compute());
  training.step();
  if (print) fmt::print("{}\n", profile.str());
  return profile.flop();
}

// Runs `measure`. Returns 1 and prints the reason to standard error if it throws, but for
// CudaError.
int failure_of(const std::function<void()>& measure) {
  try {
    measure();
    return 0;
  } catch (const CudaError&) {
    throw;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// The options of one training to time.
struct TrainingSetup {
  std::string name, allocator;
  int recompute = 0;
  bool fused_update = false;
  bool prefetch = false;

  std::unique_ptr<CudaTraining> make(const std::string& model, std::int64_t batch,
                                     const CudaOptions& cuda) const {
    return make_cuda_training(model, batch, allocator,
                              {.compute = make_cuda_compute(cuda),
                               .recompute = recompute,
                               .fused_update = fused_update,
                               .prefetch = prefetch});
  }
};

std::vector<TrainingSetup> setups_of(const std::string& model, const Options& options) {
  std::vector<TrainingSetup> setups;
  for (const std::string& allocator : options.allocators) setups.push_back({allocator, allocator});
  if (model == kTranslation) return setups;
  if (options.recompute > 0 || options.fused_update) {
    TrainingSetup frugal{"planned", "planned", options.recompute, options.fused_update};
    if (frugal.recompute > 0) frugal.name += fmt::format(", recompute {}", frugal.recompute);
    if (frugal.fused_update) frugal.name += ", fused update";
    setups.push_back(frugal);
  }
  if (options.prefetch) setups.push_back({"planned, prefetch", "planned", 0, false, true});
  return setups;
}

std::vector<std::string> measured_row(const std::string& model, std::int64_t batch,
                                      const TrainingSetup& setup, const Options& options,
                                      double peak, bool profile) {
  const auto training = setup.make(model, batch, options.cuda);
  for (int i = 0; i < kWarmUpSteps; ++i) training->step();
  const MeasuredSteps steps = measured_steps(*training, options.steps);
  const std::uint64_t reserved_bytes = training->reserved_bytes();
  const double flop = profile_step(*training, profile);
  std::vector<std::string> row = {
      setup.name,
      fmt::format("{:.3f} ms", 1e3 * steps.seconds),
      fmt::format("{:.1f}", training->items() / steps.seconds),
      model == kTranslation ? "" : fmt::format("{:.1f} %", 100 * flop / steps.seconds / peak),
      format_bytes(reserved_bytes),
      fmt::format("{:.3f} ms", 1e3 * steps.in_allocation)};
  if (options.cuda.graph) {
    row.push_back(std::to_string(steps.launches.graphs));
    row.push_back(std::to_string(steps.launches.ops));
  }
  return row;
}

// Writes the choices so far, if that is asked for.
void write_engines(const Options& options) {
  if (options.engines_file.empty()) return;
  write_atomically(options.engines_file, options.cuda.engines->to_json());
}

// Returns the number of trainings that failed.
int measure(const std::string& model, std::int64_t batch, const Options& options, double peak) {
  std::string titles = fmt::format(
      "<memory from | step | {}/s | of peak | reserved | in allocation", items_of(model));
  if (options.cuda.graph) titles += " | graphs/step | ops/step";
  const std::size_t width = options.cuda.graph ? 8 : 6;
  Table table(titles);
  fmt::print("{}, batch {}\n", model, batch);
  int failures = 0;
  bool profile = options.profile;
  const auto print = [&] {
    fmt::print("{}\n", table.str());
    std::fflush(stdout);
    write_engines(options);
  };
  try {
    for (const TrainingSetup& setup : setups_of(model, options)) {
      std::vector<std::string> row(width);
      row[0] = setup.name;
      row[4] = "failed";
      failures += failure_of([&] {
        try {
          row = measured_row(model, batch, setup, options, peak, std::exchange(profile, false));
        } catch (const OutOfMemory& refusal) {
          row[4] = "out of memory";
          fmt::print(stderr, "{}\n", refusal.what());
        }
      });
      table.add_row(row);
    }
  } catch (const CudaError&) {
    print();
    throw;
  }
  print();
  return failures;
}

void serve(const Options& options) {
  const std::string& model = options.models.front();
  const std::int64_t batch = batches_of(model, options).front();
  const std::string& allocator = options.allocators.front();
  const auto training =
      TrainingSetup{allocator, allocator, options.recompute, options.fused_update, options.prefetch}
          .make(model, batch, options.cuda);
  for (int i = 0; i < kWarmUpSteps; ++i) training->step();
  write_engines(options);
  fmt::print("{} {}{}\n", batch, parameter_count(training->run().network()), training->lengths());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const MeasuredSteps steps = measured_steps(*training, std::max(1, std::atoi(line.c_str())));
    fmt::print("{:.6f} {}", steps.seconds, training->reserved_bytes());
    if (options.cuda.graph) fmt::print(" {}", steps.launches.graphs);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("models", options.models, "Models (default: all of the paper's)");
  app.add_option("--batches", options.batches,
                 "Images or sentences per step (default: 32,64,128; seq2seq also 256)")
      ->delimiter(',');
  app.add_option("--allocators", options.allocators, "Allocators to compare")->delimiter(',');
  app.add_option("--steps", options.steps, "Timed steps per training")->check(CLI::PositiveNumber);
  app.add_option("--peak-extent", options.peak_extent,
                 "Rows and columns of the product that shows the card's peak")
      ->check(CLI::PositiveNumber);
  app.add_flag("--tf32", options.cuda.tf32, "Round the operands of products to 10 bits");
  app.add_flag("--deterministic", options.cuda.deterministic, "Compute the same bits in every run");
  app.add_flag("--graph", options.cuda.graph, "Launch ops that return unchanged as CUDA graphs");
  app.add_option("--engines", options.engines,
                 "How engines of convolutions are chosen: by cuDNN's heuristics, or the fastest as "
                 "measured")
      ->check(CLI::IsMember({"heuristics", "measured"}));
  app.add_option("--write-engines", options.engines_file, "Write the chosen engines here, as JSON");
  app.add_option("--recompute", options.recompute,
                 "Add a planned training with this recomputation depth")
      ->check(CLI::PositiveNumber);
  app.add_flag("--fused-update", options.fused_update, "Add a planned training with fused updates");
  app.add_flag("--prefetch", options.prefetch, "Add a planned training that prefetches batches");
  app.add_flag("--profile", options.profile, "Print the time of each op");
  app.add_flag("--serve", options.serve, "Run planned steps per line of input");
}

// Prints the cost of mapping the arena and of uploading one batch.
void measure_memory(const CudaOptions& options) {
  constexpr std::size_t kInputBytes = std::size_t{128} * 3 * 224 * 224 * sizeof(float);
  constexpr int kUploads = 10;
  const auto device = make_device("cuda");
  const std::size_t range_bytes = device->capacity_bytes() / 4;
  const auto range = device->reserve(range_bytes);
  auto start = Clock::now();
  range->commit(range_bytes);
  const double mapping = seconds_since(start);
  start = Clock::now();
  range->commit(0);
  fmt::print("arena: {} mapped in {:.1f} ms, unmapped in {:.1f} ms\n", format_bytes(range_bytes),
             1e3 * mapping, 1e3 * seconds_since(start));
  range->commit(kInputBytes);
  const auto compute = make_cuda_compute(options);
  const std::vector<std::byte> host(kInputBytes, std::byte{1});
  double staging = 0, all = 0;
  for (int i = -2; i < kUploads; ++i) {  // the first two also pin memory
    start = Clock::now();
    compute->upload(range->base(), host.data(), kInputBytes, nullptr);
    if (i >= 0) staging += seconds_since(start) / kUploads;
    compute->wait();
    if (i >= 0) all += seconds_since(start) / kUploads;
  }
  fmt::print("input: {} staged in {:.2f} ms, then copied in {:.2f} ms\n\n",
             format_bytes(kInputBytes), 1e3 * staging, 1e3 * (all - staging));
  std::fflush(stdout);
}

// Prints and returns the FLOP/s of the card's peak. Then prints what a workspace saves where a
// result is large: by default, in the products of resnet50's largest images, 128 a batch.
double measure_products(const Options& options) {
  const auto extent = static_cast<std::int64_t>(options.peak_extent);
  const double seconds =
      product_seconds(options.cuda, {.rows = extent, .columns = extent, .inner = extent});
  const double peak = 2.0 * std::pow(static_cast<double>(extent), 3) / seconds;
  fmt::print("peak: a product of {}^3 in {}, {:.1f} TFLOP/s\n", extent,
             options.cuda.tf32 ? "TF32" : "fp32", 1e-12 * peak);
  ProductProblem large{.rows = 49 * extent, .columns = 256, .inner = 64};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{32} << 20}) {
    large.spare_bytes = bytes;
    fmt::print("product of {} in {} of workspace: {:.3f} ms\n", large.str(), format_bytes(bytes),
               1e3 * product_seconds(options.cuda, large));
  }
  return peak;
}

void print_card(const EngineChoices& engines) {
  if (engines.cudnn == 0) return;  // the emulation has none
  fmt::print("{}, cuDNN {}.{}.{}\n", engines.card_name(), engines.cudnn / 10000,
             engines.cudnn % 10000 / 100, engines.cudnn % 100);
}

void run(const Options& asked) {
  Options options = asked;
  EngineChoices engines;
  options.cuda.engines = &engines;
  options.cuda.measured = options.engines == "measured";
  options.cuda.on_timed = [out = options.serve ? stderr : stdout](const TimedEngines& timed) {
    fmt::print(out, "{}", timed.str());
    std::fflush(out);
  };
  for (const std::string& model : options.models) {
    if (model != kTranslation) find_model(model);  // throws before anything runs
  }
  if (options.serve) {
    serve(options);
    return;
  }
  const double peak = measure_products(options);
  print_card(engines);
  write_engines(options);  // a wrong path fails before anything else runs
  int failures = failure_of([&] { measure_memory(options.cuda); });
  for (const std::string& model : options.models) {
    for (const std::int64_t batch : batches_of(model, options)) {
      failures += measure(model, batch, options, peak);
    }
  }
  if (failures > 0) throw std::runtime_error(fmt::format("{} measurements failed", failures));
}

}  // namespace
}  // namespace skyline

int main(int count, char** arguments) {
  return skyline::run_benchmark(count, arguments,
                                "Training steps of the paper's networks on a CUDA device",
                                skyline::add_options, skyline::run);
}
