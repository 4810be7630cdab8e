// Random traces and step graphs, for tests and for the labs of train/labs/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "memory/planners/search.h"
#include "memory/step_graph.h"
#include "memory/trace.h"

namespace skyline {

// `blocks` blocks that live for at most half of the ticks (at least 2). Simple rules seldom pack
// them well.
inline Trace short_lived_trace(std::uint64_t seed, std::size_t blocks, Tick ticks,
                               std::uint64_t largest) {
  std::mt19937_64 random(seed);
  const auto below = [&random](Tick n) {
    return static_cast<Tick>(random() % static_cast<std::uint64_t>(n));
  };
  Trace trace;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Tick lower = below(ticks);
    const Tick upper = std::min(ticks, lower + 1 + below(ticks / 2));
    trace.blocks.push_back({lower, upper, 1 + random() % largest});
  }
  return trace;
}

// Resembles a training step: activations stack up and die in reverse, each op with a workspace.
inline Trace training_trace(std::uint64_t seed, std::size_t layers, std::uint64_t largest) {
  std::mt19937_64 random(seed);
  Trace trace;
  Tick tick = 0;
  const auto request = [&] {
    trace.blocks.push_back({tick++, 0, 1 + random() % largest});
    return trace.size() - 1;
  };
  const auto release = [&](std::size_t block) { trace.blocks[block].upper = tick++; };
  std::vector<std::size_t> activations;
  for (std::size_t i = 0; i < layers; ++i) {
    activations.push_back(request());
    release(request());  // workspace
  }
  std::size_t gradient = request();
  for (; !activations.empty(); activations.pop_back()) {
    const std::size_t next = request();
    release(request());
    release(gradient);
    release(activations.back());
    gradient = next;
  }
  release(gradient);
  return trace;
}

// Draws step graphs in which everything occurs that an order must heed: several outputs, inputs
// shared or read twice, in-place pairs that compete, control edges, kept and unread values,
// workspaces, zero bytes, views and resident values.
class RandomStepGraph {
 public:
  explicit RandomStepGraph(std::uint64_t seed) : random_(seed) {}

  // One value of `values_a_kept` is kept, on average.
  StepGraph draw(std::uint64_t most_ops, std::uint64_t values_a_kept = 12) {
    graph_ = {};
    values_a_kept_ = values_a_kept;
    const std::uint64_t ops = 1 + random_.below(most_ops);
    // Few sizes make in-place pairs; many make distinct peaks.
    most_bytes_ = chance(2) ? 4 : 20;
    recent_ = 1 + random_.below(8);
    if (chance(3)) add_value(true);
    for (std::uint64_t op = 0; op < ops; ++op) add_op();
    return std::move(graph_);
  }

 private:
  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }

  ValueId add_value(bool resident) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.bytes = random_.below(most_bytes_ + 1),
                             .resident = resident,
                             .kept = chance(values_a_kept_),
                             .storage = id});
    return id;
  }

  void add_op() {
    const auto id = static_cast<OpId>(graph_.ops.size());
    StepOp op{.name = "o" + std::to_string(id)};
    const std::uint64_t values = graph_.values.size();
    for (std::uint64_t k = values == 0 ? 0 : random_.below(4); k > 0; --k) {
      const std::uint64_t back = random_.below(chance(4) ? values : std::min(values, recent_));
      op.inputs.push_back(static_cast<ValueId>(values - 1 - back));
    }
    for (std::uint64_t k = random_.below(4); k > 0; --k) op.outputs.push_back(add_value(false));
    if (!op.inputs.empty() && chance(8)) {
      const ValueId view = add_value(false);
      graph_.values[view].storage = graph_.values[op.inputs[0]].storage;
      op.outputs.push_back(view);
    }
    if (chance(3)) op.workspace_bytes = random_.below(16);
    if (id > 0 && chance(5)) op.after.push_back(static_cast<OpId>(random_.below(id)));
    add_pairs(op);
    graph_.ops.push_back(std::move(op));
  }

  void add_pairs(StepOp& op) {
    if (op.inputs.empty() || op.outputs.empty()) return;
    for (std::uint64_t k = random_.below(4); k > 0; --k) {
      const InPlacePair pair{.input = static_cast<int>(random_.below(op.inputs.size())),
                             .output = static_cast<int>(random_.below(op.outputs.size()))};
      op.in_place.push_back(pair);
      StepValue& output = graph_.values[op.outputs[static_cast<std::size_t>(pair.output)]];
      const ValueId input = op.inputs[static_cast<std::size_t>(pair.input)];
      if (chance(2)) output.bytes = graph_.values[graph_.values[input].storage].bytes;
    }
  }

  SplitMix random_;
  StepGraph graph_;
  std::uint64_t most_bytes_ = 0;
  std::uint64_t values_a_kept_ = 0;
  std::uint64_t recent_ = 0;  // most inputs are among so many newest values
};

}  // namespace skyline
