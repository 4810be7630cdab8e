#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/context.h"
#include "models/seq2seq.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"

namespace skyline {

// Settings for the steps of the paper's figure 3, on the device at hand.
struct PgmoMeasuring {
  std::string device = "cpu";
  std::int64_t steps =
      10;  // of each run, with the warm-up and the step after it, which are not timed
  std::int64_t warmup_steps = 1;
  std::optional<std::uint64_t> capacity_bytes = {};  // of the device; unset: its own
  Seq2SeqShape translation = {};                     // the paper's
  std::function<void(const std::string&)> say = {};  // hears which network runs
};

// One allocator's steps.
struct PgmoArmTime {
  std::string allocator;  // "best-fit-pool", "planned-grow", "planned-upper-bound"
  std::int64_t batch_size = 0;
  // Medians; empty: the batch does not fit. Seconds include those of the allocations.
  std::optional<double> step_seconds = {}, allocate_ns = {};
};

// The steps of one network under each allocator, which took turns.
struct PgmoTime {
  std::string panel;  // of figure 3: "a" to "d"
  std::string network;
  Mode mode = Mode::kTraining;
  std::vector<PgmoArmTime> arms;  // the pool, then the paper's planned allocator, then others

  // Images or sentences a second of an allocator, by default the paper's planned one, in those of
  // the pool. Empty if one of the two does not fit.
  std::optional<double> speed(std::size_t number = 1) const;
};

// Figure 3.
struct PgmoTimes {
  PgmoMeasuring measuring;
  std::vector<PgmoTime> rows;     // each at one batch size
  std::vector<PgmoTime> largest;  // training, each allocator at the largest batch that fits it
  double seconds = 0;
};

// Runs all networks. Images and words are the same in all runs, and made up. Largest batches are
// found by dry runs, where the capacity is known. Throws what training throws, but OutOfMemory.
PgmoTimes measure_pgmo(const PgmoMeasuring& measuring, const std::vector<std::string>& networks,
                       const std::vector<std::int64_t>& batch_sizes,
                       const std::vector<std::int64_t>& seq2seq_batch_sizes);

Rows<PgmoTimes> rows(const PgmoTimes*);

// A table of the answer, which the text and the page show.
struct PgmoSection {
  std::string title;
  std::optional<Table> table;  // empty: nothing was measured
  std::string note;            // lines, each with its end
};
std::vector<PgmoSection> pgmo_times_sections(const std::optional<PgmoTimes>& times);

}  // namespace skyline
