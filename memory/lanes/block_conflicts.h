#pragma once

#include <span>
#include <vector>

#include "memory/lanes/conflicts.h"
#include "memory/lanes/happens_before.h"
#include "memory/step_uses.h"

namespace skyline {

// The ops that use each block of a step.
struct BlockOps {
  std::vector<OpId> first;              // by block: the op that requests it
  std::vector<std::vector<OpId>> last;  // by block: when these are done, all that use it are
};
BlockOps block_ops(const SimulatedStep& step, const HappensBefore& order);

// Returns which ops may run at once.
Conflicts op_conflicts(const HappensBefore& order);

// Returns which blocks of a simulated step must not share bytes: those alive at one tick, and those
// of which the earlier may still be in use when an op requests the later. O(blocks²).
Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order);

// The same, and only blocks that ops of one colour request may share bytes.
Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order,
                          std::span<const std::uint32_t> colours);

}  // namespace skyline
