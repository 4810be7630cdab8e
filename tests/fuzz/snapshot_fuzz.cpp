// Any bytes are either a memory snapshot, which can be replayed, or end in a TraceError; never in
// another exception or a crash.
#include <sstream>

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

}  // namespace
}  // namespace skyline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    skyline::check(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const skyline::TraceError&) {
  }
  return 0;
}
