#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// The least peak over all orders, by dynamic programming over the sets of ops done: a reference for
// graphs of up to 16 ops, written from StepOp's description alone.
class ExhaustiveOrder {
 public:
  explicit ExhaustiveOrder(const StepGraph& graph, bool in_place = true)
      : graph_(graph), in_place_(in_place), needs_(graph.ops.size()) {
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      for (const OpId before : graph.ops[op].after) needs_[op] |= Set{1} << before;
      for (const ValueId input : graph.ops[op].inputs) {
        needs_[op] |= writer(input) | writer(graph.values[input].storage);
      }
      for (const ValueId output : graph.ops[op].outputs) {
        needs_[op] |= writer(graph.values[output].storage) & ~(Set{1} << op);
      }
    }
  }

  std::uint64_t least_peak() const {
    constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
    const Set all = (Set{1} << graph_.ops.size()) - 1;
    std::vector<std::uint64_t> best(all + 1, kNever);
    best[0] = 0;
    for (Set done = 0; done < all; ++done) {
      if (best[done] == kNever) continue;
      for (OpId op = 0; op < graph_.ops.size(); ++op) {
        const Set with = done | Set{1} << op;
        if (with == done || (needs_[op] & ~done) != 0) continue;
        best[with] = std::min(best[with], std::max(best[done], bytes_during(op, done)));
      }
    }
    return best[all];
  }

 private:
  using Set = std::uint32_t;

  bool counted(ValueId value) const {
    return graph_.values[value].storage == value && !graph_.values[value].resident;
  }

  Set writer(ValueId value) const {
    if (graph_.values[value].storage == value && graph_.values[value].resident) return 0;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      if (std::ranges::count(graph_.ops[op].outputs, value) > 0) return Set{1} << op;
    }
    return 0;
  }

  bool kept(ValueId owner) const {
    for (const StepValue& value : graph_.values) {
      if (value.storage == owner && value.kept) return true;
    }
    return false;
  }

  // How often ops outside the set read the value or a view of it.
  std::size_t reads_left(ValueId owner, Set done) const {
    std::size_t reads = 0;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      if (done >> op & 1) continue;
      for (const ValueId input : graph_.ops[op].inputs)
        reads += graph_.values[input].storage == owner;
    }
    return reads;
  }

  std::uint64_t bytes_during(OpId op, Set done) const {
    std::uint64_t bytes = graph_.ops[op].workspace_bytes;
    for (ValueId value = 0; value < graph_.values.size(); ++value) {
      if (!counted(value) || (writer(value) & done) == 0) continue;
      if (kept(value) || reads_left(value, done) > 0) bytes += graph_.values[value].bytes;
    }
    std::vector<ValueId> unwritten;
    for (const ValueId output : graph_.ops[op].outputs) {
      if (counted(output)) unwritten.push_back(output);
    }
    std::vector<ValueId> taken;
    for (const InPlacePair& pair : graph_.ops[op].in_place) {
      const ValueId input = graph_.ops[op].inputs[static_cast<std::size_t>(pair.input)];
      const ValueId owner = graph_.values[input].storage;
      const ValueId output = graph_.ops[op].outputs[static_cast<std::size_t>(pair.output)];
      if (!in_place_ || !counted(owner) || kept(owner) || reads_left(owner, done) != 1 ||
          std::ranges::count(taken, owner) > 0 || std::ranges::count(unwritten, output) == 0 ||
          graph_.values[owner].bytes != graph_.values[output].bytes) {
        continue;
      }
      taken.push_back(owner);
      std::erase(unwritten, output);
    }
    for (const ValueId output : unwritten) bytes += graph_.values[output].bytes;
    return bytes;
  }

  const StepGraph& graph_;
  const bool in_place_;
  std::vector<Set> needs_;
};

}  // namespace skyline
