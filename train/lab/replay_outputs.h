#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/formats/csv/event_csv.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_events.h"
#include "train/checkpoints/atomic_file.h"

namespace skyline {

// Files to write during a replay; files with an empty path are not written.
struct ReplayFiles {
  std::filesystem::path events;        // the same events as an event trace
  std::filesystem::path trace;         // MiniMalloc's CSV: all blocks as one packing problem
  std::filesystem::path rmm;           // the replay as RMM's log
  std::filesystem::path chrome_trace;  // the replay as Chrome trace events

  // True if a file depends on the allocator, so only one allocator can be replayed.
  bool of_one_allocator() const;
  bool none() const;
};

// Writes the files of a replay. Each is streamed to a temporary file until commit(); without it, no
// file remains. Only the trace is collected in memory.
class ReplayOutputs {
 public:
  // `tagged`: the events may have tags. Throws WriteError, and UsageError when two paths are equal.
  ReplayOutputs(const ReplayFiles& files, bool tagged);
  ~ReplayOutputs();

  // Returns the observers for a replay through `allocator`. The outputs own them; the allocator
  // must live until after finish().
  std::vector<ReplayObserver*> observers(const std::string& name, const Allocator& allocator);

  void apply(const LiveEvents& events);
  // Call this after the last event, when the replay has finished.
  void finish(const LiveEvents& events);
  // Moves all files to their final paths. Throws WriteError.
  void commit();

 private:
  AtomicFile& open(const std::filesystem::path& path);
  void write_trace(const LiveEvents& events);

  ReplayFiles files_;
  std::vector<std::unique_ptr<AtomicFile>> open_;
  std::vector<std::unique_ptr<ReplayObserver>> observers_;
  std::optional<EventCsvWriter> events_;
  std::optional<TraceBuilder> trace_;
};

}  // namespace skyline
