#pragma once

#include <cuda_runtime.h>

#include <functional>

namespace cuda_emulation {

// Returns true if work on this stream goes into a graph.
bool is_capturing(cudaStream_t stream);
// Returns true if work on any stream does.
bool is_capturing();
// Adds work to the graph, unless the capture is spoiled.
cudaError_t capture(std::function<void()> work);
// Spoils the running capture: its next call says so. Returns `error`.
cudaError_t spoil_capture(cudaError_t error);

}  // namespace cuda_emulation
