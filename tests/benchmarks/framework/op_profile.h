#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/benchmarks/framework/observed_ops.h"

namespace skyline {

// Time of a step by op label, ours beside the bare loop's.
class OpProfile {
 public:
  // Ops with equal labels form a group, for example by name.
  using Label = std::function<std::string(const ExecutedOp&)>;

  explicit OpProfile(Label label) : label_(std::move(label)) {}

  // Adds one step of ours and the seconds of the same ops in a bare step. Figures are medians over
  // all steps added.
  void add(std::span<const ExecutedOp> ops, std::span<const double> bare_seconds);

  // Returns a table, the most expensive first: calls, time, share of `step_seconds`, GFLOP/s if an
  // op multiplies matrices (else GB/s over its operands), the bare loop's time, the implementations
  // that oneDNN chose. The last row is the part of `step_seconds` outside ops.
  std::string str(double step_seconds, std::size_t most_rows) const;

 private:
  struct Row {
    std::string label;
    int calls = 0;  // a step
    double flop = 0;
    double bytes = 0;
    std::set<std::string> implementations;
    std::vector<double> seconds, bare_seconds;  // one a step
  };

  Row& row(const std::string& label);

  Label label_;
  std::vector<Row> rows_;
  std::size_t steps_ = 0;
};

}  // namespace skyline
