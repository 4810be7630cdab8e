#pragma once

#include <cstdint>
#include <optional>

#include "memory/replay/live_events.h"
#include "memory/trace.h"

namespace skyline {

// Measures what the events of a trace ask for, independent of any allocator. Constant memory.
class EventDemand {
 public:
  // Requests are rounded up to `alignment` (at least 1) for the lower bound.
  explicit EventDemand(std::uint64_t alignment = kAlignmentBytes) : alignment_(alignment) {}

  void apply(const LiveEvents& events);

  std::uint64_t blocks() const noexcept { return blocks_; }          // allocated so far
  std::uint64_t peak_live_blocks() const noexcept { return most_; }  // at once
  // The most rounded bytes alive at once: no allocator or plan reserves less. Empty above 2^63 − 1.
  std::optional<std::uint64_t> lower_bound() const;

 private:
  // Holds 2^64 blocks of 2^63 bytes.
  using Wide = unsigned __int128;
  Wide rounded_bytes(std::uint64_t bytes) const;

  std::uint64_t alignment_;
  std::uint64_t blocks_ = 0, live_ = 0, most_ = 0;
  Wide live_bytes_ = 0, most_bytes_ = 0;
};

}  // namespace skyline
