#pragma once

#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// An op requests a block, writes over the value in it, or reads it.
struct BlockUse {
  enum class Kind : std::uint8_t { kRequest, kOverwrite, kRead };
  std::size_t block = 0;
  OpId op = 0;
  Kind kind = Kind::kRead;
  ValueId value = kNoValue;  // the owner of the bytes; none for a workspace

  static constexpr ValueId kNoValue = ~ValueId{0};
  bool operator==(const BlockUse&) const = default;
};

// A simulated step and why each of its blocks is alive. A block's reference count after a use is
// the number of its reads that follow, up to the next op that writes over it.
struct SimulatedStep {
  Trace trace;
  std::vector<Tick> begins;    // the tick at which each op begins
  std::vector<BlockUse> uses;  // in the order of execution
};

// As simulate(), with the uses of all blocks.
SimulatedStep simulate_uses(const StepGraph& graph, const SimulateOptions& options = {});

}  // namespace skyline
