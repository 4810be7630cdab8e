#pragma once

#include <string>

#include "memory/formats/csv/csv_columns.h"
#include "memory/formats/sink.h"
#include "memory/replay/event_reader.h"

namespace skyline {

// Event traces as CSV (ALLOCATORS.md), with a header line:
//
//   event,id,bytes[,tag,layer,phase,category,stream]
//   a,w0,4096              requests 4096 bytes, from 0 to 2^63 − 1
//   f,w0,                  frees them; the column bytes is not read
//   s,,                    a step begins
//
// Columns may come in any order; unknown ones are ignored, and so are names of phases and
// categories that are not Skyline's. `tag` is the op. Constant memory whatever the length.
class EventCsvReader final : public EventReader {
 public:
  // `source` names the stream in errors, `head` was read off it before. Throws TraceError for a
  // header without the first three columns.
  EventCsvReader(std::istream& in, std::string_view source, std::string head = {});

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override { return columns_.place(); }
  bool tagged() const override { return tagged_; }

 private:
  enum Column { kEvent, kId, kBytes, kTag, kLayer, kPhase, kCategory, kStream };
  AllocationEvent::Kind kind() const;
  void read_tag(AllocationEvent& event) const;

  CsvColumns columns_;
  bool tagged_ = false;
};

// Writes the same format; the columns behind bytes only where asked for.
class EventCsvWriter {
 public:
  EventCsvWriter(Sink sink, bool tagged);
  void write(const AllocationEvent& event);
  void finish();  // what is buffered goes to the sink

 private:
  BufferedSink out_;
  bool tagged_;
};

}  // namespace skyline
