#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/ranks/rank_place.h"
#include "framework/savings.h"
#include "train/cli/figures.h"

namespace skyline {

// Engines by the problem that they compute; see EngineChoices.
using EngineNames = std::map<std::string, std::string>;

// A point of the curve of bytes against seconds.
struct BudgetStep {
  std::uint64_t bytes = 0;  // with resident values, in the program's sequence
  double overhead = 0, bound = 0;
  Savings savings = {};
  EngineNames engines = {};
};

// The fastest step that was found within a budget. Seconds are those of ops, foreseen.
struct BudgetAnswer {
  std::uint64_t budget_bytes = 0;
  std::uint64_t reserved_bytes = 0;   // by the step within the budget
  std::uint64_t unlimited_bytes = 0;  // reserved by the step that recomputes nothing
  std::uint64_t least_bytes = 0;      // of the smallest step that was found, in program order
  double seconds = 0;                 // of the step that recomputes nothing
  double extra_seconds = 0;           // of recomputed values, early sums, rounds, smaller engines
  double bound_seconds = 0;           // no step within the budget has fewer extra seconds
  std::size_t recomputed = 0;         // values that are recomputed
  std::size_t candidates = 0;         // values that could be
  Savings savings;                    // null: none
  EngineNames engines = {};           // smaller ones than the rule's
  std::string seconds_source;
  double planning_seconds = 0;
  // Computes the curve that the step was chosen from. Its bounds take up to a second a point, so
  // only a page asks for it. Null in a dry run.
  std::function<std::vector<BudgetStep>()> curve;

  double overhead() const { return extra_seconds / seconds; }
  double bound() const { return bound_seconds / seconds; }

  // "31 of 175 values are recomputed; the step fits in … and takes 5.81 % longer, at least …".
  std::string text() const;
};

// "conv1, conv2": the chains that savings run in rounds.
std::string rounds_text(const Savings& savings);

Rows<BudgetAnswer> rows(const BudgetAnswer*);
Rows<BudgetStep> rows(const BudgetStep*);

// What is settled before the first step; the same on all ranks.
struct StepDecisions {
  std::int64_t lanes = 1;    // of the CPU
  std::int64_t threads = 1;  // of an op
  int warmup_steps = 1;      // on the pool before the switch to the plan
  SumBuckets buckets = {};   // of gradients that ranks sum together; null: one bucket
  bool prefetch = false;     // a step's inputs cross during the step before
  Savings savings = {};      // of the step within its budget
  EngineNames engines = {};  // smaller ones than the rule's, within the budget
  std::optional<BudgetAnswer> budget = {};  // why, for reports; empty without a budget
};

}  // namespace skyline
