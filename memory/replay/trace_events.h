// A trace as events, and events as a trace.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memory/replay/live_events.h"
#include "memory/trace.h"

namespace skyline {

// An allocation or a free of a trace's block.
struct TraceEvent {
  Tick tick = 0;
  bool allocation = false;
  std::size_t block = 0;
};

// Returns the allocations and frees of a trace by tick: at each tick the frees first, because
// lifetimes are half-open, each group in the order of its blocks. O(n log n).
std::vector<TraceEvent> trace_events(const Trace& trace);

// Reads a trace as events, without steps. A block with gaps counts as alive throughout; fixed
// offsets are ignored: they are answers, not requests.
class TraceEventReader final : public EventReader {
 public:
  // `source` names the trace in errors.
  TraceEventReader(Trace trace, std::string_view source);

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override;
  bool tagged() const override { return !trace_.tags.empty(); }

 private:
  Trace trace_;
  std::string source_;
  std::vector<TraceEvent> events_;
  std::size_t next_ = 0;
  std::string id_;
};

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
