#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "memory/replay/live_events.h"

namespace skyline {

// File formats of a recorded program.
enum class EventFormat {
  kAuto,        // recognised by its first line
  kEvents,      // Skyline's event trace, EventCsvReader
  kRmm,         // RMM's log, RmmLogReader
  kSnapshot,    // PyTorch's memory snapshot, SnapshotReader
  kMiniMalloc,  // a trace of lifetimes, TraceEventReader
};

// "auto", "events", "rmm", "snapshot", "minimalloc": in the order of EventFormat.
std::span<const std::string_view> event_format_names();

struct OpenOptions {
  EventFormat format = EventFormat::kAuto;
  std::optional<std::size_t> device = {};  // snapshots only; default: the first one used
};

// An opened recording.
struct OpenedEvents {
  std::unique_ptr<EventReader> reader;
  EventFormat format = EventFormat::kEvents;
};

// Opens a recording. The stream, which may be a pipe, must outlive the reader; `source` names it in
// errors. Throws TraceError if the format is unknown, and whatever the reader's constructor throws.
// Event traces and RMM's logs are streamed; the other formats are read into memory.
OpenedEvents open_events(std::istream& in, std::string_view source,
                         const OpenOptions& options = {});

}  // namespace skyline
