#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// A chain of layers: layer k makes result k from result k - 1, and in backward reads result k - 1
// and the gradient of its result. Result 0 cannot be recomputed.
struct ChainProblem {
  std::vector<std::uint64_t> bytes;       // of each result, and of its gradient
  std::vector<std::uint64_t> workspaces;  // of each layer's op; the first counts for nothing
  std::vector<double> seconds;            // as well

  static ChainProblem draw(std::uint64_t seed, std::size_t layers) {
    std::mt19937_64 random(seed);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
      return low + random() % (high - low + 1);
    };
    ChainProblem chain;
    for (std::size_t k = 0; k <= layers; ++k) {
      chain.bytes.push_back(1000 * between(1, 9));
      chain.workspaces.push_back(1000 * between(0, 2));
      chain.seconds.push_back(static_cast<double>(between(5, 30)));
    }
    return chain;
  }

  std::size_t layers() const { return bytes.size() - 1; }

  BudgetProblem problem() const {
    BudgetProblem problem;
    StepGraph& graph = problem.graph;
    const auto add = [&](std::uint64_t size) {
      const auto id = static_cast<ValueId>(graph.values.size());
      graph.values.push_back({.bytes = size, .storage = id});
      return id;
    };
    std::vector<ValueId> results;
    for (const std::uint64_t size : bytes) results.push_back(add(size));
    graph.ops.push_back({.name = "input", .outputs = {results[0]}});
    for (std::size_t k = 1; k < results.size(); ++k) {
      const Recompute recompute{.value = results[k],
                                .inputs = {results[k - 1]},
                                .workspace_bytes = workspaces[k],
                                .seconds = seconds[k]};
      graph.ops.push_back(recompute.op(graph));
      problem.recomputes.push_back(recompute);
    }
    problem.backward = static_cast<OpId>(graph.ops.size());
    ValueId gradient = add(bytes.back());
    graph.ops.push_back({.name = "loss", .inputs = {results.back()}, .outputs = {gradient}});
    for (std::size_t k = results.size(); --k > 0;) {
      graph.ops.push_back({.name = "update", .inputs = {results[k - 1], gradient}});
      const ValueId next = add(bytes[k - 1]);
      graph.ops.push_back({.name = "gradient", .inputs = {gradient}, .outputs = {next}});
      gradient = next;
    }
    problem.seconds.assign(graph.ops.size(), 10);
    return problem;
  }
};

}  // namespace skyline
