#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/context.h"

namespace skyline {

// A tensor as an op saw it; in a dry run `address` is only a number.
struct Operand {
  TensorSpec spec;
  std::byte* address = nullptr;
  Category category = Category::kUnknown;
  bool resident = false;
};

// One run of an op. Views run nothing and are left out.
struct ExecutedOp {
  std::string name;
  std::string parameters;  // Op::parameters()
  std::string layer;
  Phase phase = Phase::kForward;
  std::vector<Operand> inputs, outputs;
  double seconds = 0;  // including its requests and the release of its inputs
  // oneDNN's names of its choices, in order of execution; empty for our own kernels.
  std::vector<std::string> implementations;
};

// Sees, during its life, every op that contexts execute. The linker redirects calls of
// Context::execute here (--wrap), so that the framework needs no hook for benchmarks. Programs get
// it by linking observed_ops. One observer at a time, on the thread that runs the steps.
class OpObserver {
 public:
  // Throws std::logic_error if another observer is alive.
  OpObserver();
  virtual ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

  virtual void executing(std::span<const Tensor> /*inputs*/) {}
  virtual void executed(ExecutedOp op) = 0;
};

// Keeps the ops that it sees.
class OpLog : public OpObserver {
 public:
  void executed(ExecutedOp op) override { ops_.push_back(std::move(op)); }
  std::vector<ExecutedOp> take() { return std::exchange(ops_, {}); }

 private:
  std::vector<ExecutedOp> ops_;
};

// Multiply-adds of a convolution, a matrix product, an LSTM whose weights are parameters, or a
// gradient of one, without biases; 0 for all others. An LSTM's first word counts as any other.
std::int64_t multiply_adds(const ExecutedOp& op);
// Counts 2 for each multiply-add, and only what runs: the first layer's images
// need no gradient.
double flop(std::span<const ExecutedOp> ops);

// Returns the bytes of all inputs and outputs.
std::uint64_t operand_bytes(const ExecutedOp& op);

}  // namespace skyline
