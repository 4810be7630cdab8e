#pragma once

#include <array>
#include <cstdint>

#include "memory/formats/csv/csv_columns.h"
#include "memory/formats/sink.h"
#include "memory/replay/event_reader.h"
#include "memory/replay/event_replay.h"

namespace skyline {

// The log of RMM's logging_resource_adaptor, which its replay benchmark reads:
//
//   Thread,Time,Action,Pointer,Size,Stream
//   2342727,15:47:02.841961,allocate,0x10012400000,1048576,0
//   2342727,15:47:02.841977,free,0x10012400000,1048576,0
//
// Actions are allocate, free and allocate failure. Pointers are hexadecimal, with or without 0x, or
// (nil). Columns may come in any order; Thread and Time are not looked at: lines are in the order
// of the calls. A log knows no steps and no tags.

// Blocks are called by their pointers. Left out: failures, which asked for memory in vain, and
// requests of 0 bytes that got the null pointer, and their frees.
class RmmLogReader final : public EventReader {
 public:
  // As EventCsvReader. Throws TraceError for a header without Action, Pointer and Size.
  RmmLogReader(std::istream& in, std::string_view source, std::string head = {});

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override { return columns_.place(); }
  // The adaptor may have been put in place in the middle of a program.
  bool begins_midway() const override { return true; }

 private:
  enum Column { kAction, kPointer, kSize, kStream };
  std::uint64_t pointer() const;
  bool read_event(AllocationEvent& event);

  CsvColumns columns_;
  std::array<char, 20> id_{};
};

// Writes the log of a replay: the addresses are those that the replayed allocator gave. A refused
// request is an allocate failure. One event takes a microsecond.
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
