#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// Builds the graph of a training step: ops as they are called, then backward() for their gradients
// in reverse, each with its update at once.
class TrainingGraph {
 public:
  ValueId input(std::uint64_t bytes) { return run("input", {}, bytes); }

  // An op with a weight, whose gradient reads the inputs and the result's gradient.
  ValueId weighted(ValueId x, std::uint64_t bytes, std::uint64_t weight_bytes) {
    return remember("conv", {x}, {x}, bytes, weight_bytes);
  }
  // An op whose gradient reads its result, such as a rectifier.
  ValueId activation(ValueId x) {
    const ValueId y = remember("relu", {x}, {}, bytes_of(x), 0);
    calls_.back().kept = {y};
    return y;
  }
  // Gradients read the other operand.
  ValueId product(ValueId x, ValueId y) { return remember("mul", {x, y}, {x, y}, bytes_of(x), 0); }
  ValueId sum(ValueId x, ValueId y) { return remember("add", {x, y}, {}, bytes_of(x), 0); }

  StepGraph backward(ValueId loss) {
    gradients_.resize(graph_.values.size());
    gradients_[loss] = run("loss", {loss}, bytes_of(loss));
    for (std::size_t k = calls_.size(); k-- > 0;) differentiate(calls_[k]);
    return std::move(graph_);
  }

 private:
  struct Call {
    std::vector<ValueId> inputs, kept;
    ValueId output = 0;
    std::uint64_t weight_bytes = 0;
  };

  std::uint64_t bytes_of(ValueId value) const { return graph_.values[value].bytes; }

  ValueId run(const char* name, std::vector<ValueId> inputs, std::uint64_t bytes) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.bytes = bytes, .storage = id});
    graph_.ops.push_back({.name = name, .inputs = std::move(inputs), .outputs = {id}});
    return id;
  }

  ValueId remember(const char* name, std::vector<ValueId> inputs, std::vector<ValueId> kept,
                   std::uint64_t bytes, std::uint64_t weight_bytes) {
    const ValueId output = run(name, inputs, bytes);
    calls_.push_back({std::move(inputs), std::move(kept), output, weight_bytes});
    return output;
  }

  void differentiate(const Call& call) {
    if (!gradients_[call.output]) return;
    std::vector<ValueId> read = call.kept;
    read.push_back(*gradients_[call.output]);
    if (call.weight_bytes > 0) {
      const ValueId of_weight = run("dW", read, call.weight_bytes);
      graph_.ops.push_back({.name = "update", .inputs = {of_weight}});
      read = {read.back()};
    }
    for (const ValueId input : call.inputs) add_gradient(input, run("dX", read, bytes_of(input)));
  }

  void add_gradient(ValueId value, ValueId gradient) {
    std::optional<ValueId>& sum = gradients_[value];
    sum = sum ? run("add", {*sum, gradient}, bytes_of(value)) : gradient;
  }

  StepGraph graph_;
  std::vector<Call> calls_;
  std::vector<std::optional<ValueId>> gradients_;
};

// A residual network of about `ops` ops: blocks of two convolutions beside an identity.
inline StepGraph residual_step(std::size_t ops) {
  constexpr std::size_t kOpsOfBlock = 16;
  TrainingGraph step;
  std::uint64_t bytes = 1 << 20, weight_bytes = 36 << 10;
  ValueId x = step.input(bytes);
  for (std::size_t block = 0; block < ops / kOpsOfBlock; ++block) {
    const ValueId inner = step.activation(step.weighted(x, bytes, weight_bytes));
    x = step.activation(step.sum(step.weighted(inner, bytes, weight_bytes), x));
  }
  return step.backward(step.weighted(x, 4000, 1 << 20));
}

// An unrolled LSTM of about `ops` ops; each time step's weight gradient is applied at once.
inline StepGraph lstm_step(std::size_t ops) {
  constexpr std::size_t kOpsOfTime = 45;
  constexpr std::uint64_t kBytes = 64 << 10, kWeightBytes = 4 << 20;
  TrainingGraph step;
  ValueId hidden = step.input(kBytes), cell = step.input(kBytes);
  for (std::size_t time = 0; time < ops / kOpsOfTime; ++time) {
    const ValueId x = step.sum(step.input(kBytes), hidden);
    ValueId gates[4];
    for (ValueId& gate : gates) gate = step.activation(step.weighted(x, kBytes, kWeightBytes / 4));
    cell = step.sum(step.product(gates[1], cell), step.product(gates[0], gates[2]));
    hidden = step.product(gates[3], step.activation(cell));
  }
  return step.backward(step.weighted(hidden, 4000, 1 << 20));
}

}  // namespace skyline
