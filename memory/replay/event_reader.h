#pragma once

#include <cstdint>
#include <string_view>

#include "memory/allocator.h"
#include "memory/errors.h"

namespace skyline {

// One line of an event trace (ALLOCATORS.md): what a program asked of its allocator. Views are
// valid until the reader's next event.
struct AllocationEvent {
  enum class Kind : std::uint8_t { kAllocation, kFree, kStep };
  Kind kind = Kind::kAllocation;
  std::string_view id = {};      // of the block; one live block at a time bears it
  std::uint64_t bytes = 0;       // as requested, at most 2^63 − 1; allocations only
  Tag tag = {};                  // allocations only; empty where unknown
  std::string_view stream = {};  // of the device, as the trace writes it; empty where unknown
};

// Events in their order, one at a time, so that a trace need not fit in memory.
class EventReader {
 public:
  virtual ~EventReader() = default;

  // The next event; false at the end. Throws TraceError naming source, line and field.
  virtual bool next(AllocationEvent& event) = 0;

  // Where the event handed out last stands, for errors about it.
  virtual TraceErrorFacts place() const = 0;

  // Whether events can bear tags.
  virtual bool tagged() const { return false; }
  // Whether the recording may have begun when blocks were alive already, so that frees of unknown
  // ids are no error.
  virtual bool begins_midway() const { return false; }
};

}  // namespace skyline
