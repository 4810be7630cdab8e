#include "tests/cuda/device_calls.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

// The host may not touch device memory, and there is enough of it for AlexNet.
[[maybe_unused]] const bool chosen = [] {
  cuda_emulation::options().protect = true;
  cuda_emulation::options().capacity_bytes = std::size_t{4} << 30;
  return true;
}();

}  // namespace

DeviceCalls device_calls() {
  const cuda_emulation::Counts& counts = cuda_emulation::counts();
  return {
      .allocations = counts.mallocs + counts.host_mallocs + counts.maps + counts.async_mallocs,
      .frees = counts.frees + counts.host_frees + counts.unmaps + counts.async_frees,
      .card_free_bytes = cuda_emulation::options().capacity_bytes - cuda_emulation::held_bytes()};
}

}  // namespace skyline
