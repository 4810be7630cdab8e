#include <cstdlib>
#include <string_view>

#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

cuda_emulation::StreamOrder order_of(std::string_view streams) {
  return streams == "others-first" ? cuda_emulation::StreamOrder::kOthersFirst
                                   : cuda_emulation::StreamOrder::kShuffled;
}

// The host may not touch device memory, and there is enough of it for AlexNet. The variable
// SKYLINE_EMULATED_DEVICES says how many devices a program finds, SKYLINE_EMULATED_STREAMS in which
// order its streams run.
[[maybe_unused]] const bool chosen = [] {
  cuda_emulation::options().protect = true;
  cuda_emulation::options().capacity_bytes = std::size_t{4} << 30;
  const char* const devices = std::getenv("SKYLINE_EMULATED_DEVICES");
  if (devices != nullptr) cuda_emulation::options().devices = std::atoi(devices);
  const char* const streams = std::getenv("SKYLINE_EMULATED_STREAMS");
  if (streams != nullptr) cuda_emulation::options().streams = order_of(streams);
  return true;
}();

}  // namespace

}  // namespace skyline
