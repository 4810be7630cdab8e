#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"

namespace skyline {

// What PGMO's experiments are repeated with.
struct PgmoOptions {
  std::vector<std::int64_t> batch_sizes = {32, 64, 128};  // of training; inference runs 1
  std::vector<std::int64_t> seq2seq_batch_sizes = {32, 64, 128, 256};
  std::uint64_t workspace_bytes = std::uint64_t{8} << 20;  // of every convolution (section 5.1)
  int timed_runs = 15;                                     // of the heuristic, for each network
};

// Mini-batches of sentences under one allocator.
struct PgmoArm {
  std::string allocator;             // "planned-grow", "planned-upper-bound" for the two policies
  std::uint64_t reserved_bytes = 0;  // the most taken from the device, resident memory included
  std::uint64_t device_allocations = 0;  // after the first mini-batch
  std::uint64_t replans = 0;             // of the planned ones
};

// What mini-batches came to that all have another shape, one after the other.
struct PgmoMiniBatches {
  std::int64_t count = 0;
  std::uint64_t live_bytes = 0;  // the most alive at once, resident memory included
  std::vector<PgmoArm> arms;

  // Throws std::out_of_range.
  const PgmoArm& arm(std::string_view allocator) const;
};

// One network at one batch size, by dry run; bytes rounded to 512.
struct PgmoRow {
  std::string network;
  Mode mode = Mode::kTraining;
  std::int64_t batch_size = 0;
  std::uint64_t resident_bytes = 0;  // parameters, gradients, optimizer state, running values
  // Resident memory included, the most taken from the device: no reuse inside a step; the pool of
  // Chainer up to 1.24; that of Chainer 3.
  std::uint64_t network_wise_bytes = 0, exact_pool_bytes = 0, pool_bytes = 0;
  // Of the step alone, of the longest mini-batch where they differ: the peak of the heuristic, and
  // the best plan known.
  std::uint64_t heuristic_bytes = 0, best_plan_bytes = 0;
  bool proved_optimal = false;  // of the best plan
  std::size_t blocks = 0;
  double heuristic_seconds = 0;                 // the median
  std::optional<PgmoMiniBatches> mini_batches;  // of seq2seq

  // Of mini-batches: as the policy grow leaves it, which is the paper's.
  std::uint64_t planned_bytes() const;
  // Of the whole, against the pool of Chainer 3; below 0 where the plan takes more.
  double saving() const;
};

// A figure of the paper beside ours.
struct PgmoFigure {
  enum class Unit { kBytes, kGigabytes, kShare };
  std::string what;
  std::string section;
  Unit unit = Unit::kBytes;
  double paper = 0;
  std::string relation = {};        // "at most", "above"; empty: the figure itself is given
  std::optional<double> ours = {};  // empty: not measured
  std::string note = {};            // why they may differ
};

struct PgmoReproduction {
  PgmoOptions options;
  std::vector<PgmoFigure> figures;
  std::vector<PgmoRow> rows;  // by network; training in the order of the options, then inference
  // The heuristic's time grows with the number of blocks to this power: the slope of the line
  // through all rows, both in logarithms. Empty for fewer than two numbers of blocks.
  std::optional<double> growth_exponent;
  double seconds = 0;  // in all
};

// Runs all of it: memory by dry runs, the heuristic's time by the clock.
PgmoReproduction reproduce_pgmo(const PgmoOptions& options);

nlohmann::ordered_json to_json(const PgmoReproduction& reproduction);
std::string pgmo_text(const PgmoReproduction& reproduction);
// One self-contained HTML page with the bars of PGMO's figure 2.
std::string pgmo_page(const PgmoReproduction& reproduction);

// "10,169,344", "1.21 GB", "12.6 %".
std::string figure_text(PgmoFigure::Unit unit, double value);
// "equal", "-8.3 %", "+1.4 points", or whether the relation holds: "holds", "does not hold"; "not
// measured".
std::string difference_text(const PgmoFigure& figure);
// "alexnet, training, batch 32".
std::string row_name(const PgmoRow& row);

}  // namespace skyline
