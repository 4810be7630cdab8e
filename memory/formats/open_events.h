#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memory/replay/event_reader.h"

namespace skyline {

// The formats that a recorded program comes in.
enum class EventFormat {
  kAuto,        // told by the beginning of the text
  kEvents,      // Skyline's event trace: EventCsvReader
  kRmm,         // RMM's log: RmmLogReader
  kSnapshot,    // PyTorch's memory snapshot: SnapshotReader
  kMiniMalloc,  // a trace of lifetimes: TraceEventReader
};

// "auto", "events", "rmm", "snapshot", "minimalloc", in the order of the enumeration.
std::span<const std::string_view> event_format_names();

struct OpenOptions {
  EventFormat format = EventFormat::kAuto;
  std::optional<std::size_t> device = {};  // of a snapshot; unset: the first that was used
};

// A recording opened: what reads it, and what the user should know about it.
struct OpenedEvents {
  std::unique_ptr<EventReader> reader;
  EventFormat format = EventFormat::kEvents;
  std::string note = {};  // one sentence; empty: nothing to say
};

// Opens a recording. The stream, which may be a pipe, outlives the reader; `source` names it in
// errors. Throws TraceError for a text of no known format, and what the reader's constructor
// throws. Event traces and RMM's logs are streamed, the others read into memory.
OpenedEvents open_events(std::istream& in, std::string_view source,
                         const OpenOptions& options = {});

}  // namespace skyline
