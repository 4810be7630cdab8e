#include "train/lab/pgmo/pgmo.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "memory/alignment.h"
#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "memory/now_seconds.h"
#include "memory/planners/registry.h"
#include "memory/replay/live_bytes.h"
#include "memory/replay/trace_events.h"
#include "memory/solvers/solvers.h"
#include "models/models.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/lab/pgmo/pgmo_seq2seq.h"

namespace skyline {
namespace {

constexpr std::string_view kNetworks[] = {"alexnet", "googlenet", "resnet50", "inception-resnet"};

double share_saved(std::uint64_t bytes, std::uint64_t baseline) {
  return 1 - static_cast<double>(bytes) / static_cast<double>(baseline);
}

// Sums of bytes by op, the most first.
class BytesByOp {
 public:
  void add(const BlockTag& tag, std::uint64_t bytes) {
    by_op_[tag.category == Category::kWorkspace ? "workspace" : tag.op] += bytes;
  }
  PgmoParts::ByOp sorted() const {
    PgmoParts::ByOp parts(by_op_.begin(), by_op_.end());
    std::ranges::stable_sort(parts, std::greater<>(), &PgmoParts::ByOp::value_type::second);
    return parts;
  }

 private:
  std::map<std::string, std::uint64_t> by_op_;
};

// Returns what an allocator takes from the device in a step, by the op that it serves.
PgmoParts::ByOp taken_by(const char* allocator, const Trace& step) {
  SimulatedDevice device;
  const auto pool = make_allocator(allocator, device);
  std::vector<Block> blocks(step.size());
  BytesByOp taken;
  for (const TraceEvent& event : trace_events(step)) {
    if (!event.allocation) {
      blocks[event.block].reset();
      continue;
    }
    const BlockTag& tag = step.tags[event.block];
    const std::uint64_t before = device.statistics().reserved_bytes;
    blocks[event.block] = pool->allocate(step.blocks[event.block].bytes, tag.view());
    const std::uint64_t after = device.statistics().reserved_bytes;
    if (after > before) taken.add(tag, after - before);
  }
  return taken.sorted();
}

PgmoParts parts_of(const Trace& step) {
  BytesByOp at_peak;
  for (const std::size_t block : blocks_at_fullest_tick(step, kAlignmentBytes)) {
    at_peak.add(step.tags[block], planned_bytes(step, block, kAlignmentBytes));
  }
  return {.at_peak = at_peak.sorted(),
          .pool = taken_by("best-fit-pool", step),
          .exact_pool = taken_by("exact-pool", step)};
}

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
    PgmoRow row{.network = network, .mode = mode, .batch_size = batch_size};
    const PgmoStep ours = step(key, false), chainer = step(key, true);
    row.ours = ours.memory;
    row.as_chainer = chainer.memory;
    row.chainer_parts = parts_of(chainer.trace);
    const Plan best = plan(ours.trace);
    row.best_plan_bytes = best.peak;
    row.proved_optimal = best.proved_optimal;
    row.blocks = ours.trace.size();
    row.heuristic_seconds = median_seconds(ours.trace);
    const bool has_program = network == "alexnet" || network == "googlenet";
    if (has_program && mode == Mode::kInference && batch_size == 1) {
      const PlanOptions limited{.time_limit_seconds = options_.mip_seconds};
      row.mip = plan(ours.trace, "mip", limited, all_planners()).solver;
    }
    return row;
  }

  PgmoStep step(const Key& key, bool as_chainer) const {
    const auto& [network, mode, batch_size] = key;
    PgmoStep step = network == kSeq2Seq ? pgmo_seq2seq(mode, batch_size, as_chainer)
                                        : image_step(key, as_chainer);
    step.memory.heuristic_bytes = plan(step.trace, "best-fit").peak;
    return step;
  }

  PgmoStep image_step(const Key& key, bool as_chainer) const {
    const auto& [network, mode, batch_size] = key;
    DryRunFacts facts =
        dry_run({.model = network,
                 .shape = find_model(network).shape,
                 .batch_size = batch_size,
                 .mode = mode,
                 .emulate = {.convolution_workspace_bytes = options_.workspace_bytes,
                             .chainer_ops = as_chainer}});
    const auto reserved = [&facts](const char* allocator) {
      return replay_run(facts.run, facts.trace, {.allocator = allocator}).peak_reserved_bytes;
    };
    return {.memory = {.resident_bytes = facts.resident_bytes,
                       .network_wise_bytes = reserved("network-wise"),
                       .exact_pool_bytes = reserved("exact-pool"),
                       .pool_bytes = reserved("best-fit-pool")},
            .trace = std::move(facts.trace)};
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

std::vector<PgmoRatio> ratios(const PgmoRowOf& row_of, const std::vector<std::int64_t>& sizes) {
  constexpr std::pair<const char*, std::uint64_t (*)(const PgmoMemory&)> kReserved[] = {
      {"network-wise", [](const PgmoMemory& memory) { return memory.network_wise_bytes; }},
      {"exact-pool", [](const PgmoMemory& memory) { return memory.exact_pool_bytes; }},
      {"pool", [](const PgmoMemory& memory) { return memory.pool_bytes; }},
      {"planned", [](const PgmoMemory& memory) { return memory.planned_bytes(); }}};
  std::vector<PgmoRatio> ratios;
  for (const std::int64_t size : sizes) {
    const PgmoRow& large = row_of("inception-resnet", Mode::kTraining, size);
    const PgmoRow& small = row_of("alexnet", Mode::kTraining, size);
    for (const auto& [name, reserved] : kReserved) {
      const auto ratio = [&](const PgmoMemory& one, const PgmoMemory& other) {
        return static_cast<double>(reserved(one)) / static_cast<double>(reserved(other));
      };
      ratios.push_back({.batch_size = size,
                        .allocator = name,
                        .ours = ratio(large.ours, small.ours),
                        .as_chainer = ratio(large.as_chainer, small.as_chainer)});
    }
  }
  return ratios;
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

std::uint64_t PgmoMemory::planned_bytes() const {
  return mini_batches ? mini_batches->arm("planned-grow").reserved_bytes
                      : resident_bytes + heuristic_bytes;
}

double PgmoMemory::saving() const { return share_saved(planned_bytes(), pool_bytes); }

double PgmoMemory::saving_against_exact_pool() const {
  return share_saved(planned_bytes(), exact_pool_bytes);
}

PgmoReproduction reproduce_pgmo(const PgmoOptions& options) {
  const double started = now_seconds();
  Workbench bench(options);
  const PgmoRowOf row_of = [&bench](std::string_view network, Mode mode,
                                    std::int64_t batch_size) -> const PgmoRow& {
    return bench.row(network, mode, batch_size);
  };
  PgmoReproduction reproduction{.options = options};
  const auto add_rows = [&](std::string_view network, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t batch_size : sizes) {
      reproduction.rows.push_back(row_of(network, Mode::kTraining, batch_size));
    }
    reproduction.rows.push_back(row_of(network, Mode::kInference, 1));
  };
  for (const std::string_view network : kNetworks) add_rows(network, options.batch_sizes);
  add_rows(kSeq2Seq, options.seq2seq_batch_sizes);
  reproduction.ratios = ratios(row_of, options.batch_sizes);
  if (options.measuring) {
    reproduction.times =
        measure_pgmo(*options.measuring, {std::begin(kNetworks), std::end(kNetworks)},
                     options.batch_sizes, options.seq2seq_batch_sizes);
  }
  reproduction.figures = pgmo_figures(row_of, reproduction);
  reproduction.growth_exponent = growth_exponent(reproduction.rows);
  reproduction.seconds = now_seconds() - started;
  return reproduction;
}

}  // namespace skyline
