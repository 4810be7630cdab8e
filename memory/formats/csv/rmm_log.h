#pragma once

#include <array>
#include <cstdint>

#include "memory/formats/csv/csv_reader.h"
#include "memory/formats/sink.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/live_events.h"

namespace skyline {

// The log of RMM's logging_resource_adaptor, which its replay benchmark reads:
//
//   Thread,Time,Action,Pointer,Size,Stream
//   2342727,15:47:02.841961,allocate,0x10012400000,1048576,0
//   2342727,15:47:02.841977,free,0x10012400000,1048576,0
//
// Actions are allocate, free and allocate failure. Pointers are hexadecimal, with or without 0x, or
// (nil). Columns may come in any order; Thread and Time are ignored: lines are in call order. A log
// has no steps and no tags.

// Names blocks by their pointers. Skips failed requests, and requests of 0 bytes that got the null
// pointer with their frees.
class RmmLogReader final : public EventReader {
 public:
  // As EventCsvReader. Throws TraceError if the header lacks Action, Pointer or Size.
  RmmLogReader(std::istream& in, std::string_view source, std::string head = {});

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override { return columns_.place(); }
  // RMM's adaptor may have been installed in the middle of a program.
  bool begins_midway() const override { return true; }
  bool tagged() const override { return columns_.has(kStream); }

 private:
  enum Column { kAction, kPointer, kSize, kStream };
  std::uint64_t pointer() const;
  bool read_event(AllocationEvent& event);

  CsvColumns columns_;
  std::array<char, 20> id_{};
};

// Writes the log of a replay, with the addresses that the replayed allocator returned. A refused
// request is an allocate failure. Each event takes one microsecond.
class RmmLogWriter final : public ReplayObserver {
 public:
  explicit RmmLogWriter(Sink sink);
  void allocated(const LiveEvents& events, const Extent& extent) override;
  void refused(const LiveEvents& events, const OutOfMemory& refusal) override;
  void freed(const LiveEvents& events, const Extent& extent) override;
  void finished(const ReplayEnd& end) override;

 private:
  void line(const LiveEvents& events, std::string_view action, std::uint64_t pointer,
            std::uint64_t bytes);
  BufferedSink out_;
};

}  // namespace skyline
