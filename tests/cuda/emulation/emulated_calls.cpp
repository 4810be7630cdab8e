#include "tests/cuda/device_calls.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {

DeviceCalls device_calls() {
  const cuda_emulation::Counts& counts = cuda_emulation::counts();
  return {.allocations = counts.mallocs + counts.host_mallocs + counts.maps + counts.async_mallocs,
          .frees = counts.frees + counts.host_frees + counts.unmaps + counts.async_frees,
          .held_bytes = cuda_emulation::held_bytes()};
}

std::optional<std::uint64_t> kernels_outside_graphs() { return cuda_emulation::counts().kernels; }

}  // namespace skyline
