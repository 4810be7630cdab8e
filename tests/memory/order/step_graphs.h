#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/planners/search.h"
#include "memory/step_graph.h"

namespace skyline {

// A step graph under construction: values of 100 bytes unless said otherwise.
struct GraphBuilder {
  ValueId value(std::uint64_t bytes = 100, bool kept = false) {
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({.bytes = bytes, .kept = kept, .storage = id});
    return id;
  }
  ValueId resident(std::uint64_t bytes) {
    const ValueId id = value(bytes);
    graph.values[id].resident = true;
    return id;
  }
  ValueId view(ValueId of) {
    const ValueId id = value(0);
    graph.values[id].storage = of;
    return id;
  }
  OpId op(std::string name, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
          std::vector<InPlacePair> in_place = {}, std::uint64_t workspace_bytes = 0) {
    graph.ops.push_back({.name = std::move(name),
                         .inputs = std::move(inputs),
                         .outputs = std::move(outputs),
                         .workspace_bytes = workspace_bytes,
                         .in_place = std::move(in_place)});
    return static_cast<OpId>(graph.ops.size() - 1);
  }
  StepGraph graph;
};

// Figure 3 of OLLA (arXiv:2210.12924): ops input, v1, v2, v3, v4.
inline StepGraph olla_figure_3() {
  GraphBuilder b;
  const ValueId input = b.value(10'000'000), a = b.value(10'000'000), c = b.value(20'000'000);
  const ValueId d = b.value(30'000'000), e = b.value(5'000'000), out = b.value(10'000'000, true);
  b.op("input", {}, {input});
  b.op("v1", {input}, {a, c});
  b.op("v2", {c}, {e});
  b.op("v3", {a}, {d});
  b.op("v4", {d, e}, {out});
  return b.graph;
}

// A training step of `layers` dense layers: activations kept for the backward pass, a weight
// gradient a layer whose update comes at the end. Every order that delays updates needs more.
inline StepGraph late_updates(std::size_t layers) {
  GraphBuilder b;
  std::vector<ValueId> activations = {b.value(4)};
  b.op("input", {}, {activations[0]});
  for (std::size_t k = 0; k < layers; ++k) {
    activations.push_back(b.value(4));
    b.op("dense", {activations[k]}, {activations[k + 1]});
  }
  ValueId gradient = activations.back();
  std::vector<ValueId> of_weights;
  for (std::size_t k = layers; k-- > 0;) {
    of_weights.push_back(b.value(8));
    b.op("dense_dW", {activations[k], gradient}, {of_weights.back()});
    const ValueId of_input = b.value(4);
    b.op("dense_dX", {gradient}, {of_input});
    gradient = of_input;
  }
  for (const ValueId weights : of_weights) b.op("update", {weights}, {});
  return b.graph;
}

// A backward pass whose gradients of weights are kept: `layers` of 8 bytes, each made of values of
// 1 byte. `shared` larger weights of 40 bytes are used `uses` times each, the first time before the
// layers, the last time after; the products are summed one by one. Whatever runs early, a sum holds
// 120 bytes at once.
inline StepGraph kept_gradients(std::size_t layers, std::size_t shared, std::size_t uses) {
  GraphBuilder b;
  ValueId gradient = b.value(1);
  b.op("loss", {}, {gradient});
  std::vector<ValueId> sums(shared);
  const auto add_products = [&](bool first, bool last) {
    for (ValueId& sum : sums) {
      const ValueId product = b.value(40, first && last);
      b.op("shared_dW", {gradient}, {product});
      if (first) {
        sum = product;
        continue;
      }
      const ValueId added = b.value(40, last);
      b.op("add", {sum, product}, {added});
      sum = added;
    }
  };
  for (std::size_t use = 0; use < uses; ++use) {
    add_products(use == 0, use + 1 == uses);
    for (std::size_t k = use + 1 == uses ? 0 : layers; k-- > 0;) {
      const ValueId activation = b.value(1);
      b.graph.ops[0].outputs.push_back(activation);
      b.op("dense_dW", {activation, gradient}, {b.value(8, true)});
      const ValueId of_input = b.value(1);
      b.op("dense_dX", {gradient}, {of_input});
      gradient = of_input;
    }
  }
  return b.graph;
}

// A value of a chain of ops: op `first` writes it, op `last` is the last to use it.
struct ChainValue {
  OpId first = 0, last = 0;
  std::uint64_t bytes = 0;
};

// Ops that have one order only.
inline GraphBuilder chain(std::size_t ops, const std::vector<ChainValue>& values) {
  GraphBuilder b;
  for (OpId op = 0; op < ops; ++op) {
    b.op("f", {}, {});
    if (op > 0) b.graph.ops[op].after = {op - 1};
  }
  for (const ChainValue& value : values) {
    const ValueId id = b.value(value.bytes);
    b.graph.ops[value.first].outputs.push_back(id);
    if (value.last > value.first) b.graph.ops[value.last].inputs.push_back(id);
  }
  return b;
}

// A chain that is full at each op: packing it is hard. Half of its control edges are left out.
inline StepGraph full_chain(std::uint64_t seed, std::size_t ops) {
  constexpr std::size_t kTriesPerOp = 25;
  constexpr std::uint64_t kMostBytes = 8, kBytes = 17;
  SplitMix random(seed);
  std::vector<ChainValue> values;
  std::vector<std::uint64_t> bytes(ops);  // by op
  for (std::size_t k = 0; k < kTriesPerOp * ops; ++k) {
    const std::uint64_t first = random.below(ops), last = first + random.below(ops - first);
    const std::uint64_t size = 1 + random.below(kMostBytes);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(last + 1);
    if (*std::max_element(begin, end) + size > kBytes) continue;
    for (auto op = begin; op != end; ++op) *op += size;
    values.push_back({static_cast<OpId>(first), static_cast<OpId>(last), size});
  }
  StepGraph graph = chain(ops, values).graph;
  for (StepOp& op : graph.ops) {
    if (random.below(2) == 0) op.after.clear();
  }
  return graph;
}

// Each op needs 5 bytes, but no plan has less than 6.
inline StepGraph unpackable_chain() {
  return chain(6, {{5, 5, 3},
                   {2, 4, 2},
                   {3, 5, 2},
                   {0, 1, 3},
                   {1, 4, 1},
                   {1, 2, 1},
                   {0, 0, 2},
                   {2, 2, 1}})
      .graph;
}

// An order whose plan needs 59 bytes peaks at 51, which is the least. Freeing a value early peaks
// at 52, and so does the plan.
inline StepGraph better_when_higher() {
  GraphBuilder b = chain(6, {{5, 5, 30},
                             {2, 4, 20},
                             {3, 5, 19},
                             {0, 1, 29},
                             {1, 1, 10},
                             {1, 2, 10},
                             {0, 0, 20},
                             {2, 2, 10}});
  b.op("free", {4}, {}, {}, 22);
  b.graph.ops.back().after = {2};
  return b.graph;
}

}  // namespace skyline
