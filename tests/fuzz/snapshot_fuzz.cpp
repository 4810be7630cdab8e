// Any bytes either are a memory snapshot, which replayed, written and read back asks for the same,
// or end in a TraceError: never in another exception or a crash.
#include <sstream>

#include "memory/formats/pytorch/snapshot_reader.h"
#include "memory/formats/pytorch/snapshot_writer.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

void check(const std::string& text) {
  std::istringstream in(text);
  SnapshotReader reader(in, "fuzz");
  SimulatedDevice device(kFuzzCapacityBytes);
  ObservedDevice observed(device);
  std::string copy;
  SnapshotWriter writer([&](std::string_view bytes) { copy += bytes; }, observed);
  const std::vector<std::int64_t> bytes = served(reader, observed, {&writer});
  std::istringstream again(copy);
  SnapshotReader back(again, "copy");
  SimulatedDevice second;
  require(served(back, second) == bytes);
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
