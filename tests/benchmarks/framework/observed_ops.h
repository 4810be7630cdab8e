#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/context.h"

namespace skyline {

// A tensor as an op saw it: `address` is only a number in a dry run.
struct Operand {
  TensorSpec spec;
  std::byte* address = nullptr;
  Category category = Category::kUnknown;
  bool resident = false;
};

// One run of an op. Views, which run nothing, are left out.
struct ExecutedOp {
  std::string name;
  std::string parameters;  // Op::parameters()
  std::string layer;
  Phase phase = Phase::kForward;
  std::vector<Operand> inputs, outputs;
  double seconds = 0;  // with its requests and the releases of its inputs
  // oneDNN's names of what it chose, in order of execution; empty for a kernel of our own.
  std::vector<std::string> implementations;
};

// Sees every op that contexts execute while it lives, from outside: the linker leads calls of
// Context::execute here (--wrap), so that the framework needs no hook for benchmarks. Programs get
// this by linking observed_ops. One observer at a time; thread rule: the thread that runs the
// steps.
class OpObserver {
 public:
  // Throws std::logic_error when another observer lives.
  OpObserver();
  virtual ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

  virtual void executing(std::span<const Tensor> /*inputs*/) {}
  virtual void executed(ExecutedOp op) = 0;
};

// Keeps what it sees.
class OpLog : public OpObserver {
 public:
  void executed(ExecutedOp op) override { ops_.push_back(std::move(op)); }
  std::vector<ExecutedOp> take() { return std::exchange(ops_, {}); }

 private:
  std::vector<ExecutedOp> ops_;
};

// Of a convolution, a matrix product or a gradient of one, biases not counted; 0 of all others.
std::int64_t multiply_adds(const ExecutedOp& op);
// As NETWORKS.md counts, 2 for each multiply-add, and only what really runs: the first layer's
// images need no gradient.
double flop(std::span<const ExecutedOp> ops);

// Bytes of all inputs and outputs.
std::uint64_t operand_bytes(const ExecutedOp& op);

}  // namespace skyline
