#pragma once

#include <cstdint>
#include <map>

#include "memory/formats/pytorch/pickle_writer.h"
#include "memory/formats/sink.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/observed_device.h"

namespace skyline {

// Writes a replay as a PyTorch memory snapshot, a pickle that pytorch.org/memory_viz opens and that
// SnapshotReader reads: every event, segment and failure of the replay in device_traces of device
// 0, and what is reserved and alive at its end in segments. Times are ticks, taken for
// microseconds.
//
// A block's frames say its tag and its name in the trace; its category is told where it is known. A
// range of the device is a segment that grows. An allocator that tells its segments is believed; of
// any other, a block is taken to fill its requested bytes rounded to 512. Streamed: memory for the
// live segments alone.
class SnapshotWriter final : public ReplayObserver {
 public:
  // `device` is the one that the replayed allocator uses; it outlives the writer.
  SnapshotWriter(Sink sink, ObservedDevice& device);

  void allocated(const LiveEvents& events, const Extent& extent) override;
  void refused(const LiveEvents& events, const OutOfMemory& refusal) override;
  void freed(const LiveEvents& events, const Extent& extent) override;
  void step_began(const LiveEvents& events) override;
  void finished(const ReplayEnd& end) override;

 private:
  struct Reserved {
    std::uint64_t bytes = 0;
    bool grows = false;  // a range
  };

  void write_changes(const LiveEvents& events);
  void keep_books(const SegmentChange& change);
  void begin_entry(std::string_view action, std::uint64_t bytes);
  void end_entry(const LiveEvents& events, bool of_block);
  void block_entry(std::string_view action, const LiveEvents& events, const Extent& extent);
  void frames(const LiveBlock& block);
  void frame(std::string_view name, std::string_view file, std::int64_t line);
  void write_snapshot_entry(const LiveEvents& events);
  void write_segments(const ReplayEnd& end);
  void write_segment(const Segment& segment, const ReplayEnd& end);
  void write_block(const SegmentBlock& block, const ReplayEnd& end);
  void number(std::string_view key, std::uint64_t value);
  void no_frames();
  std::vector<Segment> segments_of(const ReplayEnd& end) const;

  PickleWriter pickle_;
  bool categorised_ = false;
  ObservedDevice& device_;
  std::map<std::uint64_t, Reserved> reserved_;  // by address
  std::map<std::uint64_t, std::size_t> live_;   // slots by address, at the end
};

}  // namespace skyline
