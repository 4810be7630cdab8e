#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/replay/event_reader.h"
#include "memory/trace.h"

namespace skyline {

// A trace as events, by tick: at each tick the frees, in the order of their blocks, and then the
// allocations likewise. A block with gaps counts as alive throughout; a fixed offset is an answer
// and no question to an allocator. No steps. O(n log n).
class TraceEventReader final : public EventReader {
 public:
  // `source` names the trace in errors.
  TraceEventReader(Trace trace, std::string_view source);

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override;
  bool tagged() const override { return !trace_.tags.empty(); }

 private:
  struct Change {
    Tick tick = 0;
    bool allocation = false;
    std::size_t block = 0;
  };

  Trace trace_;
  std::string source_;
  std::vector<Change> changes_;
  std::size_t next_ = 0;
  std::string id_;
};

}  // namespace skyline
