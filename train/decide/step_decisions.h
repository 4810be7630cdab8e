#pragma once

#include <cstdint>
#include <optional>

#include "framework/ranks/rank_place.h"
#include "train/decide/budget_answer.h"

namespace skyline {

// What is settled before the first step; the same on all ranks.
struct StepDecisions {
  std::int64_t lanes = 1;    // of the CPU
  std::int64_t threads = 1;  // of an op
  SumBuckets buckets = {};   // of gradients that ranks sum together; null: one bucket
  Savings savings = {};      // of the step within its budget
  EngineNames engines = {};  // smaller ones than the rule's, within the budget
  std::optional<BudgetAnswer> budget = {};  // why, for reports; empty without a budget
};

}  // namespace skyline
