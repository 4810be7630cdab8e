#pragma once

#include "memory/formats/sink.h"
#include "memory/replay/event_replay.h"

namespace skyline {

// Writes a replay as Chrome trace events (JSON; opens in Perfetto and chrome://tracing): counters
// of requested, allocated and reserved bytes, a slice for each block that was served, and marks
// where steps begin and where memory runs out. One tick is one microsecond.
//
// A slice's track (its thread) is the block's slot, so slices in a track never overlap and there
// are as many tracks as blocks alive at once. Asks the allocator for its statistics at every event.
// Streamed.
class ChromeTraceWriter final : public ReplayObserver {
 public:
  // `allocator` must outlive the writer; `name` becomes the name of the process.
  ChromeTraceWriter(Sink sink, std::string_view name, const Allocator& allocator);

  void allocated(const LiveEvents& events, const Extent& extent) override;
  void refused(const LiveEvents& events, const OutOfMemory& refusal) override;
  void freed(const LiveEvents& events, const Extent& extent) override;
  void step_began(const LiveEvents& events) override;
  void finished(const ReplayEnd& end) override;

 private:
  void counters(Tick tick);
  void mark(std::string_view name, Tick tick);
  void slice(const LiveBlock& block, std::size_t slot, Tick end, const Extent& extent);

  BufferedSink out_;
  const Allocator& allocator_;
};

}  // namespace skyline
