#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "memory/planners/holes/used_ticks.h"

namespace skyline {

// Which of the holes that fit a block goes to.
enum class HoleChoice {
  kLowest,
  kSmallest,  // the lowest of equals; on top if no hole fits
};

// The addresses in use at each tick, where planners that place block by block look for holes. All
// addresses are below 2^63.
class UsedAddresses {
 public:
  virtual ~UsedAddresses() = default;

  virtual void clear() = 0;

  // Returns an address, at least `from`, where `bytes` are free at all these ticks.
  virtual std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                             std::uint64_t from, HoleChoice choice) const = 0;

  // Marks [begin, end) as used at these ticks.
  virtual void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) = 0;
};

}  // namespace skyline
