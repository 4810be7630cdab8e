#pragma once

#include <cstdint>

#include "memory/formats/sink.h"
#include "memory/replay/event_replay.h"

namespace skyline {

// Writes a replay as Chrome trace events (JSON; opens in Perfetto and chrome://tracing): counters
// of requested, allocated and reserved bytes over time, a slice for each block that was served,
// marks where steps begin and where memory ran out. A tick is a microsecond.
//
// Slices lie in lanes, the tracks of threads: a block takes over the lane of one that is dead, so
// slices of a lane never overlap, and there are as many lanes as blocks were alive at once. Asks
// the allocator for its statistics at every event. Streamed.
class ChromeTraceWriter final : public ReplayObserver {
 public:
  // `allocator` outlives the writer; `name` is the process's.
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
