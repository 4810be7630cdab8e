#include "train/lab/pgmo/pgmo.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/models.h"
#include "train/cli/median.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/lab/pgmo/pgmo_seq2seq.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kNetworks[] = {"alexnet", "googlenet", "resnet50", "inception-resnet"};
constexpr double kGigabyte = 1e9;
constexpr double k16GiB = 16.0 * (1 << 30);  // memory of the paper's P100

constexpr const char* kPlannedNote =
    "heuristic and optimum alike: image, label, the first convolution's output and its workspace";
constexpr const char* kWholeMemoryNote =
    "the paper's is the whole device's: it holds cuDNN, the CUDA context and what Chainer keeps "
    "between steps as well, which a dry run does not";
constexpr const char* kOpsNote =
    "Chainer 3 runs normalization, relu and the sum of a residual as ops of their own and writes "
    "nothing in place: its steps ask for more";
constexpr const char* kSavingNote =
    "of the whole, against the pool of Chainer 3: the paper's whole is larger, and its pool served "
    "Chainer's own requests";
constexpr const char* kLstmNote =
    "Chainer 3 copies an LSTM's weights into one buffer for cuDNN whenever it is called, 96 MiB "
    "for each of the two and anew for every word; ours pack one matrix at a time, 16 MiB, so that "
    "hardly anything is left to plan";
constexpr const char* kTimeNote =
    "a dry run computes nothing: time needs the paper's device, and what it saved was requests to "
    "it";
constexpr const char* kVariantNote =
    "the paper does not say which Inception-ResNet it ran; ours is v2 with 10, 20 and 10 blocks";

// Runs each dry run once, when it is first needed.
class Workbench {
 public:
  explicit Workbench(const PgmoOptions& options) : options_(options) {}

  const PgmoRow& row(std::string_view network, Mode mode, std::int64_t batch_size) {
    const Key key{network, mode, batch_size};
    const auto found = rows_.find(key);
    return found != rows_.end() ? found->second : rows_[key] = run(key);
  }

 private:
  using Key = std::tuple<std::string, Mode, std::int64_t>;

  PgmoRow run(const Key& key) const {
    const auto& [network, mode, batch_size] = key;
    if (network == kSeq2Seq) {
      PgmoSeq2Seq ran = pgmo_seq2seq(mode, batch_size);
      add_plans(ran.row, ran.longest);
      return std::move(ran.row);
    }
    const DryRunFacts facts = dry_run({.model = network,
                                       .shape = find_model(network).shape,
                                       .batch_size = batch_size,
                                       .mode = mode,
                                       .convolution_workspace_bytes = options_.workspace_bytes});
    const auto reserved = [&facts](const char* allocator) {
      return replay_run(facts.run, facts.trace, {.allocator = allocator}).peak_reserved_bytes;
    };
    PgmoRow row{.network = network,
                .mode = mode,
                .batch_size = batch_size,
                .resident_bytes = facts.resident_bytes,
                .network_wise_bytes = reserved("network-wise"),
                .exact_pool_bytes = reserved("exact-pool"),
                .pool_bytes = reserved("best-fit-pool")};
    add_plans(row, facts.trace);
    return row;
  }

  void add_plans(PgmoRow& row, const Trace& step) const {
    const Plan best = plan(step);
    row.heuristic_bytes = plan(step, "best-fit").peak;
    row.best_plan_bytes = best.peak;
    row.proved_optimal = best.proved_optimal;
    row.blocks = step.size();
    row.heuristic_seconds = median_seconds(step);
  }

  double median_seconds(const Trace& trace) const {
    std::vector<double> seconds;
    for (int i = 0; i < options_.timed_runs; ++i)
      seconds.push_back(plan(trace, "best-fit").seconds);
    return median(seconds).value_or(0);
  }

  const PgmoOptions& options_;
  std::map<Key, PgmoRow> rows_;
};

// --- the paper's figures ---

PgmoFigure planned_inference(Workbench& bench, const char* title, const char* network,
                             double paper) {
  return {.what = std::string(title) + ", inference of 1: bytes planned",
          .section = "5.2.3",
          .paper = paper,
          .ours = static_cast<double>(bench.row(network, Mode::kInference, 1).heuristic_bytes),
          .note = kPlannedNote};
}

PgmoFigure inference_saving(Workbench& bench, const char* title, const char* network, double paper,
                            const char* note = kSavingNote) {
  return {.what = std::string(title) + ", inference of 1: saving",
          .section = "5.2",
          .unit = PgmoFigure::Unit::kShare,
          .paper = paper,
          .ours = bench.row(network, Mode::kInference, 1).saving(),
          .note = note};
}

// The paper also planned beforehand, for one input, and re-planned for others.
PgmoFigure saving_beforehand(Workbench& bench, double paper) {
  const PgmoRow& row = bench.row(kSeq2Seq, Mode::kInference, 1);
  const auto planned = row.mini_batches->arm("planned-upper-bound").reserved_bytes;
  return {.what = "the same, planned beforehand for the longest input",
          .section = "5.2",
          .unit = PgmoFigure::Unit::kShare,
          .paper = paper,
          .ours = 1 - static_cast<double>(planned) / static_cast<double>(row.pool_bytes),
          .note = kLstmNote};
}

void add_alexnet(Workbench& bench, std::vector<PgmoFigure>& figures) {
  const PgmoRow& row = bench.row("alexnet", Mode::kTraining, 32);
  const auto add = [&](const char* what, double paper, std::uint64_t ours) {
    figures.push_back({.what = std::string("AlexNet, training at 32, ") + what,
                       .section = "5.1",
                       .unit = PgmoFigure::Unit::kGigabytes,
                       .paper = paper * kGigabyte,
                       .ours = static_cast<double>(ours),
                       .note = kWholeMemoryNote});
  };
  add("network-wise", 1.50, row.network_wise_bytes);
  add("pool", 1.21, row.pool_bytes);
}

void add_inception_resnet(Workbench& bench, std::vector<PgmoFigure>& figures) {
  const PgmoRow& row = bench.row("inception-resnet", Mode::kTraining, 64);
  const auto add = [&](const char* what, const char* relation, std::uint64_t ours,
                       const char* note) {
    figures.push_back({.what = std::string("Inception-ResNet, training at 64, ") + what,
                       .section = "5.2",
                       .unit = PgmoFigure::Unit::kGigabytes,
                       .paper = k16GiB,
                       .relation = relation,
                       .ours = static_cast<double>(ours),
                       .note = note});
  };
  add("planned", "at most", row.planned_bytes(), kVariantNote);
  add("pool", "above", row.pool_bytes, kOpsNote);
}

PgmoFigure largest_saving(const std::vector<PgmoRow>& rows) {
  const auto most = std::ranges::max_element(rows, {}, &PgmoRow::saving);
  return {.what = "largest saving of all",
          .section = "5.2",
          .unit = PgmoFigure::Unit::kShare,
          .paper = 0.495,
          .ours = most->saving(),
          .note = "ours at " + row_name(*most)};
}

// Returns the slope of a least-squares line through (log blocks, log seconds).
std::optional<double> growth_exponent(const std::vector<PgmoRow>& rows) {
  double n = 0, x_sum = 0, y_sum = 0, xx_sum = 0, xy_sum = 0;
  std::set<std::size_t> sizes;
  for (const PgmoRow& row : rows) {
    if (row.heuristic_seconds <= 0) continue;
    const double x = std::log(static_cast<double>(row.blocks));
    const double y = std::log(row.heuristic_seconds);
    sizes.insert(row.blocks);
    n += 1;
    x_sum += x;
    y_sum += y;
    xx_sum += x * x;
    xy_sum += x * y;
  }
  if (sizes.size() < 2) return {};
  return (n * xy_sum - x_sum * y_sum) / (n * xx_sum - x_sum * x_sum);
}

}  // namespace

const PgmoArm& PgmoMiniBatches::arm(std::string_view allocator) const {
  return arms.at(static_cast<std::size_t>(std::ranges::find(arms, allocator, &PgmoArm::allocator) -
                                          arms.begin()));
}

std::uint64_t PgmoRow::planned_bytes() const {
  return mini_batches ? mini_batches->arm("planned-grow").reserved_bytes
                      : resident_bytes + heuristic_bytes;
}

double PgmoRow::saving() const {
  return 1 - static_cast<double>(planned_bytes()) / static_cast<double>(pool_bytes);
}

PgmoReproduction reproduce_pgmo(const PgmoOptions& options) {
  const auto started = Clock::now();
  Workbench bench(options);
  PgmoReproduction reproduction{.options = options};
  const auto add_rows = [&](std::string_view network, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t batch_size : sizes) {
      reproduction.rows.push_back(bench.row(network, Mode::kTraining, batch_size));
    }
    reproduction.rows.push_back(bench.row(network, Mode::kInference, 1));
  };
  for (const std::string_view network : kNetworks) add_rows(network, options.batch_sizes);
  add_rows(kSeq2Seq, options.seq2seq_batch_sizes);
  std::vector<PgmoFigure>& figures = reproduction.figures;
  figures.push_back(planned_inference(bench, "AlexNet", "alexnet", 10'169'344));
  figures.push_back(planned_inference(bench, "GoogLeNet", "googlenet", 12'202'496));
  add_alexnet(bench, figures);
  figures.push_back(inference_saving(bench, "GoogLeNet", "googlenet", 0.126));
  figures.push_back(inference_saving(bench, "ResNet-50", "resnet50", 0.100));
  figures.push_back(inference_saving(bench, "seq2seq, 100 words", "seq2seq", 0.146, kLstmNote));
  figures.push_back(saving_beforehand(bench, 0.146));
  figures.push_back({.what = "seq2seq, 100 words, inference of 1: time saved",
                     .section = "5.2",
                     .unit = PgmoFigure::Unit::kShare,
                     .paper = 0.238,
                     .note = kTimeNote});
  add_inception_resnet(bench, figures);
  figures.push_back(largest_saving(reproduction.rows));
  reproduction.growth_exponent = growth_exponent(reproduction.rows);
  reproduction.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  return reproduction;
}

}  // namespace skyline
