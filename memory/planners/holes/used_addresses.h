#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "memory/planners/holes/used_ticks.h"

namespace skyline {

// Which of the holes that are large enough a block is put in.
enum class HoleChoice {
  kLowest,
  kSmallest,  // the lowest of equally small ones; on top of all where there is none
};

// Which addresses are in use at which ticks: where a planner that places block by block looks for
// holes. All addresses are below 2^63.
class UsedAddresses {
 public:
  virtual ~UsedAddresses() = default;

  virtual void clear() = 0;

  // An address, at least `from`, where `bytes` are in no use at these ticks.
  virtual std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                             std::uint64_t from, HoleChoice choice) const = 0;

  // Uses [begin, end) at these ticks.
  virtual void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) = 0;
};

}  // namespace skyline
