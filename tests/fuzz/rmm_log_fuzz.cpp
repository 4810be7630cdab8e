// Any bytes are either RMM's log, which makes the same requests after being replayed, logged and
// read back, or end in a TraceError; never in another exception or a crash.
#include <sstream>

#include "memory/formats/csv/rmm_log.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

void check(const std::string& text) {
  std::istringstream in(text);
  RmmLogReader reader(in, "fuzz");
  SimulatedDevice device(kFuzzCapacityBytes);
  std::string copy;
  RmmLogWriter writer([&](std::string_view bytes) { copy += bytes; });
  const std::vector<std::int64_t> bytes = served(reader, device, {&writer});
  std::istringstream again(copy);
  RmmLogReader back(again, "copy");
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
