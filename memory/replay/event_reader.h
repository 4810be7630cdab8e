#pragma once

#include <cstdint>
#include <string_view>

#include "memory/allocator.h"
#include "memory/errors.h"

namespace skyline {

// One line of an event trace: what a program asked of its allocator. Views are valid until the
// reader's next event.
struct AllocationEvent {
  enum class Kind : std::uint8_t { kAllocation, kFree, kStep };
  Kind kind = Kind::kAllocation;
  std::string_view id = {};      // of the block; unique among live blocks
  std::uint64_t bytes = 0;       // as requested, at most 2^63 − 1; allocations only
  Tag tag = {};                  // allocations only; empty if unknown
  std::string_view stream = {};  // of the device, as the trace names it; empty if unknown
};

// Reads events in order, one at a time, so that a trace need not fit in memory.
class EventReader {
 public:
  virtual ~EventReader() = default;

  // Reads the next event; returns false at the end. Throws TraceError naming source, line and
  // field.
  virtual bool next(AllocationEvent& event) = 0;

  // The place of the last event, for errors about it.
  virtual TraceErrorFacts place() const = 0;

  // True if events may have tags.
  virtual bool tagged() const { return false; }
  // True if blocks may have been alive when the recording began, so that frees of unknown ids are
  // no error.
  virtual bool begins_midway() const { return false; }
};

}  // namespace skyline
