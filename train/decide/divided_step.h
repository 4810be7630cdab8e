#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/cli/figures.h"

namespace skyline {

struct BudgetQuestion;

// The batches of a step. More micro-batches of fewer samples would divide them.
struct BatchDivision {
  std::int64_t batch_size = 1, micro_batches = 1;
  bool fused_update = false;  // no gradient is kept that micro-batches could add to
  // Returns what a budget asks about the step whose batches have 1 / `parts` of the samples.
  std::function<BudgetQuestion(std::int64_t parts)> step;
};

// A step of as many samples in smaller batches.
struct DividedStep {
  std::int64_t batch_size = 0, micro_batches = 0;
  std::uint64_t reserved_bytes = 0;
  std::size_t recomputed = 0;  // values of each batch
  double seconds = 0;          // of the whole step, by the model of the device
  double overhead = 0;         // of the undivided step that recomputes nothing
};

Rows<DividedStep> rows(const DividedStep*);

// Returns the steps of 2, 4, 8, … times as many batches, up to 32, as far as these divide the
// batch. With `bytes`, only those that fit, up to the first that fits without recomputing a value.
// Each takes a dry run and, with `bytes`, a search. None with fused updates. `question` must have a
// division.
std::vector<DividedStep> divided_steps(const BudgetQuestion& question,
                                       std::optional<std::uint64_t> bytes);

// True if batch normalization of the step takes statistics of a batch: smaller batches have others.
bool normalizes_batches(const BudgetQuestion& question);

// Returns which smaller batches fit into `bytes`, as sentences for a refusal: ". --batch-size 44
// --micro-batches 4 fits in 3.19 GiB …". Empty without a division.
std::string smaller_batches_text(const BudgetQuestion& question, std::uint64_t bytes);

}  // namespace skyline
