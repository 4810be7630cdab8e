// Any bytes are either events, which are equal after writing and reading them back, or end in a
// TraceError; never in another exception or a crash.
#include <sstream>

#include "memory/formats/csv/event_csv.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

void check_round_trip(const std::string& text) {
  std::istringstream in(text);
  EventCsvReader reader(in, "fuzz");
  const std::vector<PlainEvent> events = all_events(reader);
  std::string copy;
  EventCsvWriter writer([&](std::string_view bytes) { copy += bytes; }, reader.tagged());
  for (const PlainEvent& event : events) {
    const BlockTag& tag = event.tag;
    writer.write({.kind = event.kind,
                  .id = event.id,
                  .bytes = event.bytes,
                  .tag = {tag.op, tag.layer, tag.phase, tag.category},
                  .stream = event.stream,
                  .pool = event.pool});
  }
  writer.finish();
  std::istringstream again(copy);
  EventCsvReader back(again, "copy");
  require(all_events(back) == events);
}

void check_replay(const std::string& text) {
  std::istringstream in(text);
  EventCsvReader reader(in, "fuzz");
  SimulatedDevice device(kFuzzCapacityBytes);
  served(reader, device);
  require(device.statistics().reserved_bytes == 0);
}

}  // namespace
}  // namespace skyline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto check : {skyline::check_round_trip, skyline::check_replay}) {
    try {
      check(text);
    } catch (const skyline::TraceError&) {
    }
  }
  return 0;
}
