#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/formats/csv/event_csv.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_builder.h"
#include "train/checkpoints/atomic_file.h"

namespace skyline {

// Files to write a replay to; an empty path: not asked for.
struct ReplayFiles {
  std::filesystem::path events;        // the same trace as an event trace
  std::filesystem::path trace;         // as MiniMalloc's CSV: all blocks as one packing
  std::filesystem::path rmm;           // RMM's log of the replay
  std::filesystem::path chrome_trace;  // Chrome trace events of the replay

  // Whether a file shows what an allocator did, so that there can be one allocator only.
  bool of_one_allocator() const;
};

// The files of a replay, each streamed under a temporary name until commit(); without that, nothing
// is left of them. (The trace alone is gathered in memory.)
class ReplayOutputs {
 public:
  // `tagged`: events can bear tags. Throws WriteError, UsageError when two files are the same.
  ReplayOutputs(const ReplayFiles& files, bool tagged);
  ~ReplayOutputs();

  // Those that watch the replay under the allocator. They belong to the outputs; the allocator
  // lives until after finish().
  std::vector<ReplayObserver*> observers(const std::string& name, const Allocator& allocator);

  void apply(const LiveEvents& events);
  void finish(const LiveEvents& events);  // after the last event and the replay's finish
  // All files take their places. Throws WriteError.
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
