#pragma once

#include <memory>
#include <string>
#include <utility>

#include "train/budget/device_speed.h"
#include "train/lab/dry_run/dry_run_budget.h"

namespace skyline::tests {

// The seconds of a device that never changes.
inline StepSeconds steady_seconds() {
  const DeviceSpeed speed{.flops = 150e9, .bytes_per_second = 10e9, .source = "fixed"};
  return {[speed](const RecordedStep& step) { return foreseen_seconds(step, speed); },
          speed.text()};
}

// The budgets of a program's step; holds what they need.
struct SmallBudget {
  explicit SmallBudget(DryRunOptions program)
      : question{.program = std::move(program), .allocators = {}, .seconds = steady_seconds()},
        budget(step_budget(question, question.program.batch_size)) {}

  // Bytes `part` of the way from the least that was found, on whole pages, to all kept.
  std::uint64_t bytes_at(double part) {
    const auto most = static_cast<double>(budget.unlimited_bytes());
    const auto least = static_cast<double>(budget.curve(2).back().bytes + kCommitBytes);
    return static_cast<std::uint64_t>(least + part * (most - least));
  }

  DryRunRequest question;
  StepBudget budget;
};

}  // namespace skyline::tests
