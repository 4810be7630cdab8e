// Any bytes are either a memory snapshot, which can be replayed, or end in a TraceError; never in
// another exception or a crash.
#include <sstream>

#include "memory/allocators/caching_allocator.h"
#include "memory/formats/pytorch/snapshot_reader.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

void check(const std::string& text) {
  std::istringstream in(text);
  SnapshotReader reader(in, "fuzz");
  SimulatedDevice device(kFuzzCapacityBytes);
  served(reader, device);
  require(device.statistics().reserved_bytes == 0);
}

void check_recorded_settings(const std::string& text) {
  std::istringstream in(text);
  SnapshotReader reader(in, "fuzz");
  SimulatedDevice device(kFuzzCapacityBytes);
  {
    CachingAllocator caching(device, reader.recorded_options().value_or(CachingOptions{}));
    EventReplay replay("caching", caching, device);
    LiveEvents events(reader);
    while (events.next()) replay.apply(events);
    replay.finish(events);
  }
  require(device.statistics().reserved_bytes == 0);
}

}  // namespace
}  // namespace skyline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto check : {skyline::check, skyline::check_recorded_settings}) {
    try {
      check(text);
    } catch (const skyline::TraceError&) {
    }
  }
  return 0;
}
