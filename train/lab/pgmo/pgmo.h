#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/context.h"
#include "memory/plan.h"
#include "train/cli/figures.h"
#include "train/lab/pgmo/pgmo_measure.h"

namespace skyline {

// Settings for repeating PGMO's experiments.
struct PgmoOptions {
  std::vector<std::int64_t> batch_sizes = {32, 64, 128};  // for training; inference uses 1
  std::vector<std::int64_t> seq2seq_batch_sizes = {32, 64, 128, 256};
  std::uint64_t workspace_bytes = std::uint64_t{8} << 20;  // per convolution (section 5.1)
  int timed_runs = 15;                                     // of the heuristic, per network
  double mip_seconds = 60;                                 // limit of the solver, per network
  std::optional<PgmoMeasuring> measuring = {};             // unset: no step of figure 3 runs
};

// Results of one allocator over all mini-batches.
struct PgmoArm {
  std::string allocator;  // "planned-grow" and "planned-upper-bound" for the two policies
  std::uint64_t reserved_bytes = 0;      // peak taken from the device, including resident memory
  std::uint64_t device_allocations = 0;  // after the first mini-batch
  std::uint64_t replans = 0;             // planned allocators only
};

// Results of consecutive mini-batches, all of different shapes.
struct PgmoMiniBatches {
  std::int64_t count = 0;
  std::uint64_t live_bytes = 0;  // peak of live bytes, including resident memory
  std::vector<PgmoArm> arms;

  // Throws std::out_of_range for an unknown allocator.
  const PgmoArm& arm(std::string_view allocator) const;
};

// The bytes of a step under each allocator, by dry run, rounded to 512.
struct PgmoMemory {
  std::uint64_t resident_bytes = 0;  // parameters, gradients, optimizer state, running values
  // Peak taken from the device, including resident memory: without reuse inside a step; with the
  // pool of Chainer up to 1.24; with that of Chainer 3.
  std::uint64_t network_wise_bytes = 0, exact_pool_bytes = 0, pool_bytes = 0;
  // The heuristic's peak without resident memory, for the longest mini-batch if they differ.
  std::uint64_t heuristic_bytes = 0;
  std::optional<PgmoMiniBatches> mini_batches = {};  // seq2seq only

  // The planned peak, including resident memory. With mini-batches, the result of the policy grow,
  // which is the paper's.
  std::uint64_t planned_bytes() const;
  // Share of the total that planning saves against the pool of Chainer 3; negative if the plan
  // takes more.
  double saving() const;
  // The same against the pool of Chainer up to 1.24, which was CuPy 1's as well.
  double saving_against_exact_pool() const;
};

// Bytes of a step by the op that requested them, the most first; "workspace" is that of all ops.
struct PgmoParts {
  using ByOp = std::vector<std::pair<std::string, std::uint64_t>>;
  ByOp at_peak;           // alive when most are
  ByOp pool, exact_pool;  // which the pool took from the device to serve these ops
};

// One network at one batch size.
struct PgmoRow {
  std::string network;
  Mode mode = Mode::kTraining;
  std::int64_t batch_size = 0;
  PgmoMemory ours;
  PgmoMemory as_chainer;  // of ops as Chainer 3 has them, see as_chainer()
  PgmoParts chainer_parts;
  std::uint64_t best_plan_bytes = 0;  // of our step: the peak of the best known plan
  bool proved_optimal = false;        // that plan
  std::size_t blocks = 0;
  double heuristic_seconds = 0;  // median
  // CBC's report on the paper's program, for the two instances that the paper gave to CPLEX.
  std::optional<SolverReport> mip = {};
};

// A figure of the paper and our measurement of it.
struct PgmoFigure {
  enum class Unit { kBytes, kGigabytes, kShare, kTimes };
  std::string what;
  std::string section;
  Unit unit = Unit::kBytes;
  double paper = 0;
  std::string relation = {};  // "at most", "above"; empty: the paper gives the exact figure
  // Empty: not measured.
  std::optional<double> ours = {}, as_chainer = {};
  // The same if the paper's pool was the exact-size pool; only figures of a pool have it. A largest
  // saving is the largest against this pool.
  std::optional<double> exact_pool = {}, chainer_exact_pool = {};
  std::string note = {};  // why the two may differ
};

// Inception-ResNet's bytes in training, in multiples of AlexNet's, both under one allocator.
struct PgmoRatio {
  std::int64_t batch_size = 0;
  std::string allocator;
  double ours = 0, as_chainer = 0;
};

struct PgmoReproduction {
  PgmoOptions options;
  std::vector<PgmoFigure> figures;
  std::vector<PgmoRow> rows;  // by network; training sizes in the given order, then inference
  std::vector<PgmoRatio> ratios;
  std::optional<PgmoTimes> times;
  // Exponent of the heuristic's time in the number of blocks: the slope of a least-squares line
  // through all rows on logarithmic scales. Empty without two different numbers of blocks.
  std::optional<double> growth_exponent;
  double seconds = 0;  // total
};

// Repeats all experiments: memory by dry runs, the time of the heuristic by the clock, and that of
// the steps, if the options say so.
PgmoReproduction reproduce_pgmo(const PgmoOptions& options);

// Returns the row of a network, mode and batch size.
using PgmoRowOf = std::function<const PgmoRow&(std::string_view, Mode, std::int64_t)>;
// Returns the paper's figures beside ours. Besides the reproduction's rows it asks for those that
// the paper names.
std::vector<PgmoFigure> pgmo_figures(const PgmoRowOf& row_of, const PgmoReproduction& reproduction);
// Returns which network saves most in training: "googlenet against the pool, …".
std::string first_networks(const std::vector<PgmoRow>& rows);

Rows<PgmoReproduction> rows(const PgmoReproduction*);
std::vector<PgmoSection> pgmo_sections(const PgmoReproduction& reproduction);
std::string pgmo_text(const PgmoReproduction& reproduction);
// Returns one self-contained HTML page with the paper's figures.
std::string pgmo_page(const PgmoReproduction& reproduction);

// Returns, for example, "10,169,344", "1.21 GB" or "12.6 %".
std::string figure_text(PgmoFigure::Unit unit, double value);
// Returns "above 17.18 GB".
std::string paper_text(const PgmoFigure& figure);
// Returns "equal", "-8.3 %", "+1.4 points", "holds" or "does not hold" for a relation, or "not
// measured".
std::string difference_text(const PgmoFigure& figure);
std::string pgmo_mode_name(Mode mode);  // "training"
// Returns, for example, "alexnet, training, batch 32".
std::string row_name(const PgmoRow& row);

}  // namespace skyline
