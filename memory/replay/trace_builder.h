#pragma once

#include <cstddef>
#include <vector>

#include "memory/replay/live_events.h"
#include "memory/trace.h"

namespace skyline {

// Collects all blocks of all steps as one trace; each lives from its allocation's tick to its
// free's tick, or to the end. O(blocks) memory, up to a limit beyond which it drops everything.
class TraceBuilder {
 public:
  enum class Keep { kBlocks, kNames };  // kNames also keeps ids and tags

  explicit TraceBuilder(std::size_t most_blocks, Keep keep = Keep::kBlocks)
      : most_blocks_(most_blocks), keep_(keep) {}

  void apply(const LiveEvents& events);

  bool passed_limit() const noexcept { return passed_limit_; }
  // Call after the last event. Empty if the limit was passed. Repeated ids are made unique: "x",
  // "x#2", "x#3".
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
