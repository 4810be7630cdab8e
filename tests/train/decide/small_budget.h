#pragma once

#include <memory>
#include <string>

#include "train/lab/dry_run/dry_run_answer.h"

namespace skyline::tests {

inline StepSeconds steady_seconds(const std::string& device = "cpu") {
  return step_seconds({}, {.device = device});
}

// The budgets of a program's step; holds what they need.
struct SmallBudget {
  explicit SmallBudget(const DryRunOptions& program)
      : question{.program = program,
                 .allocators = {},
                 .seconds = steady_seconds(program.compute ? "cuda" : "cpu")},
        budget(step_budget(question, question.program.batch_size)) {}

  // Bytes `part` of the way from the least that was found, on whole pages, to all kept.
  std::uint64_t bytes_at(double part) {
    const auto most = static_cast<double>(budget.unlimited_bytes());
    const auto least = static_cast<double>(budget.least_bytes());
    return static_cast<std::uint64_t>(least + part * (most - least));
  }

  DryRunRequest question;
  StepBudget budget;
};

}  // namespace skyline::tests
