#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/replay/event_reader.h"
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

}  // namespace skyline
