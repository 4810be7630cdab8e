#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/replay/live_events.h"
#include "memory/trace.h"

namespace skyline {

// What the events of a trace ask for, whatever serves them. Constant memory.
class EventDemand {
 public:
  // `alignment` (at least 1) is what requests are rounded up to for the lower bound.
  explicit EventDemand(std::uint64_t alignment = kAlignmentBytes) : alignment_(alignment) {}

  void apply(const LiveEvents& events);

  std::uint64_t blocks() const noexcept { return blocks_; }          // allocated so far
  std::uint64_t peak_live_blocks() const noexcept { return most_; }  // at once
  // The most rounded bytes alive at once: no allocator or plan reserves less. Empty: above 2^63
  // − 1.
  std::optional<std::uint64_t> lower_bound() const;

 private:
  // Holds 2^64 blocks of 2^63 bytes.
  using Wide = unsigned __int128;
  Wide rounded_bytes(std::uint64_t bytes) const;

  std::uint64_t alignment_;
  std::uint64_t blocks_ = 0, live_ = 0, most_ = 0;
  Wide live_bytes_ = 0, most_bytes_ = 0;
};

// The events as one packing: all blocks of all steps, each alive from its allocation's tick to its
// free's, or to the end. Keeps every block: O(blocks) memory, up to a limit beyond which it keeps
// none.
class TraceBuilder {
 public:
  enum class Keep { kBlocks, kNames };  // kNames: ids and tags too

  explicit TraceBuilder(std::size_t most_blocks, Keep keep = Keep::kBlocks)
      : most_blocks_(most_blocks), keep_(keep) {}

  void apply(const LiveEvents& events);

  bool passed_limit() const noexcept { return passed_limit_; }
  // After the last event; empty when the limit was passed. An id that comes again is made another:
  // "x", "x#2", "x#3".
  Trace take(const LiveEvents& events);

 private:
  void add(const LiveEvents& events);
  void make_ids_differ();

  std::size_t most_blocks_;
  Keep keep_;
  bool passed_limit_ = false;
  Trace trace_;
  std::vector<std::size_t> block_of_slot_;
};

}  // namespace skyline
