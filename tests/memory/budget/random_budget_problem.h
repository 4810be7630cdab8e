#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// Draws training steps: layers with a weight, activations written in place, and sums of two
// branches, then their gradients in reverse. Every result of forward can be recomputed.
class RandomBudgetProblem {
 public:
  explicit RandomBudgetProblem(std::uint64_t seed) : random_(seed) {}

  BudgetProblem draw(int layers) {
    results_.push_back(add_value(random_bytes()));
    add_op({.name = "input", .outputs = {results_.back()}}, 0);
    for (int k = 0; k < layers; ++k) add_layer();
    problem_.backward = static_cast<OpId>(problem_.graph.ops.size());
    gradients_.resize(problem_.graph.values.size(), kNone);
    gradients_[results_.back()] = gradient_op({results_.back()}, results_.back());
    while (!layers_.empty()) {
      differentiate(layers_.back());
      layers_.pop_back();
    }
    return std::move(problem_);
  }

  // Also gives ops of backward workspaces, and most ops with a workspace smaller engines.
  BudgetProblem draw_with_engines(int layers) {
    BudgetProblem problem = draw(layers);
    std::vector<StepOp>& ops = problem.graph.ops;
    for (OpId op = problem.backward; op < ops.size(); ++op) {
      ops[op].workspace_bytes = 1000 * static_cast<std::uint64_t>(between(0, 6));
    }
    for (OpId op = 0; op < ops.size(); ++op) {
      if (ops[op].workspace_bytes == 0 || between(0, 2) == 0) continue;
      const std::uint64_t bytes = ops[op].workspace_bytes / static_cast<unsigned>(between(2, 9));
      const double seconds = between(1, 9);
      SmallerEngine& engine = problem.engines.emplace_back();
      engine.uses.push_back({{op, false}, bytes, seconds});
      for (std::uint32_t k = 0; k < problem.recomputes.size(); ++k) {
        const bool same =
            !ops[op].outputs.empty() && problem.recomputes[k].value == ops[op].outputs.front();
        if (same) engine.uses.push_back({{k, true}, bytes, seconds});
      }
    }
    return problem;
  }

 private:
  enum class Kind { kWeighted, kActivation, kSum };
  struct Layer {
    Kind kind;
    ValueId x, other, y;
  };
  static constexpr ValueId kNone = ~ValueId{0};

  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::uint64_t random_bytes() { return 1000 * static_cast<std::uint64_t>(between(1, 9)); }
  std::uint64_t bytes_of(ValueId value) const { return problem_.graph.values[value].bytes; }

  ValueId add_value(std::uint64_t bytes) {
    const auto id = static_cast<ValueId>(problem_.graph.values.size());
    problem_.graph.values.push_back({.bytes = bytes, .storage = id});
    return id;
  }
  void add_op(StepOp op, double seconds) {
    problem_.graph.ops.push_back(std::move(op));
    problem_.seconds.push_back(seconds);
  }

  void add_layer() {
    const ValueId x = results_.back();
    const auto kind = static_cast<Kind>(between(0, results_.size() > 2 ? 2 : 1));
    const bool weighted = kind == Kind::kWeighted;
    Layer layer{kind, x, x, add_value(weighted ? random_bytes() : bytes_of(x))};
    StepOp op{.name = "layer", .inputs = {x}, .outputs = {layer.y}};
    if (weighted) op.workspace_bytes = 500 * static_cast<std::uint64_t>(between(0, 3));
    if (!weighted) op.in_place = {{0, 0}};
    if (kind == Kind::kSum) {
      layer.other = results_[results_.size() - 1 - static_cast<std::size_t>(between(1, 2))];
      op.inputs.push_back(layer.other);
    }
    const double seconds = weighted ? between(5, 30) : between(1, 3);
    problem_.recomputes.push_back({.value = layer.y,
                                   .inputs = op.inputs,
                                   .workspace_bytes = op.workspace_bytes,
                                   .in_place = op.in_place,
                                   .seconds = seconds});
    add_op(std::move(op), seconds);
    layers_.push_back(layer);
    results_.push_back(layer.y);
  }

  ValueId gradient_op(std::vector<ValueId> inputs, ValueId of) {
    const ValueId gradient = add_value(bytes_of(of));
    add_op({.name = "gradient", .inputs = std::move(inputs), .outputs = {gradient}}, 2);
    return gradient;
  }
  void add_gradient(ValueId of, ValueId gradient) {
    ValueId& sum = gradients_[of];
    sum = sum == kNone ? gradient : gradient_op({sum, gradient}, of);
  }

  void differentiate(const Layer& layer) {
    const ValueId of_y = gradients_[layer.y];
    if (of_y == kNone) return;
    if (layer.kind == Kind::kWeighted) add_op({.name = "update", .inputs = {layer.x, of_y}}, 5);
    if (layer.kind == Kind::kSum) {
      add_gradient(layer.x, of_y);
      if (layer.other != layer.x) add_gradient(layer.other, of_y);
      return;
    }
    const bool reads_y = layer.kind == Kind::kActivation;
    std::vector<ValueId> inputs = {of_y};
    if (reads_y) inputs.push_back(layer.y);
    add_gradient(layer.x, gradient_op(std::move(inputs), layer.x));
  }

  std::mt19937_64 random_;
  BudgetProblem problem_;
  std::vector<ValueId> results_, gradients_;
  std::vector<Layer> layers_;
};

}  // namespace skyline
