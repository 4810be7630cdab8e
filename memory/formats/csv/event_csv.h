#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "memory/formats/csv/csv_reader.h"
#include "memory/formats/sink.h"
#include "memory/replay/live_events.h"

namespace skyline {

// Reads event traces as CSV with a header line:
//
//   event,id,bytes[,tag,layer,phase,category,stream,pool]
//   a,w0,4096              requests 4096 bytes (0 to 2^63 − 1)
//   f,w0,                  frees them; all columns but id are ignored
//   s,,                    begins a step
//   i,,                    interrupts the step for a part that is not hot, which no plan has
//   r,,                    resumes it
//   c,,                    returns cached memory to the device
//
// Columns `stream` and `pool` are names: of the stream of the device on which a block is requested,
// and of the private pool that it comes from, empty for none. A block goes back there when it is
// freed. One that other streams use is to be freed when they are done with it.
// Columns may come in any order; unknown columns, phases and categories are ignored. Column `tag`
// is the op. Constant memory at any length.
class EventCsvReader final : public EventReader {
 public:
  // `source` names the stream in errors; `head` is text already read from it. Throws TraceError if
  // the header lacks one of the first three columns.
  EventCsvReader(std::istream& in, std::string_view source, std::string head = {});

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override { return columns_.place(); }
  bool tagged() const override { return tagged_; }
  // Names the first line whose id or tag is not UTF-8. Such names are read byte for byte.
  std::string note() const override;

 private:
  enum Column { kEvent, kId, kBytes, kTag, kLayer, kPhase, kCategory, kStream, kPool };
  AllocationEvent::Kind kind() const;
  void read_tag(AllocationEvent& event) const;
  void check_encoding(std::initializer_list<std::string_view> names);

  CsvColumns columns_;
  std::size_t first_wrong_line_ = 0;  // 0: none
  bool tagged_ = false;
};

// Writes the same format, the columns after bytes only if `tagged`.
class EventCsvWriter {
 public:
  EventCsvWriter(Sink sink, bool tagged);
  void write(const AllocationEvent& event);
  void finish();  // hands the rest to the sink

 private:
  BufferedSink out_;
  bool tagged_;
};

}  // namespace skyline
