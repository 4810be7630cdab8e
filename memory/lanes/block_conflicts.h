#pragma once

#include <cstdint>
#include <vector>

#include "memory/lanes/happens_before.h"
#include "memory/step_uses.h"

namespace skyline {

// The ops that use each block of a simulated step.
struct BlockOps {
  std::vector<OpId> first;              // by block: the op that requests it
  std::vector<std::vector<OpId>> last;  // by block: when these are done, all that use it are
};
BlockOps block_ops(const SimulatedStep& step, const HappensBefore& order);

// Which blocks of a step must not share bytes: those alive at one tick, and those of which neither
// is out of use whenever the other is requested. A bit for each pair.
class BlockConflicts {
 public:
  BlockConflicts(const Trace& trace, const BlockOps& ops, const HappensBefore& order);

  std::size_t size() const { return blocks_; }
  bool conflict(std::size_t a, std::size_t b) const {
    return (bits_[a * words_ + b / 64] >> (b % 64) & 1) != 0;
  }
  void add(std::size_t a, std::size_t b);

 private:
  std::size_t blocks_, words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace skyline
