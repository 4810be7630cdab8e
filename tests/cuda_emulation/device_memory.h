#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cuda_emulation {

// Counts a call. Returns true for the call that the countdown selects.
bool has_come(std::optional<std::uint64_t>& countdown);

// Returns the fault of a kernel, after which a context stays dead; empty if there was none.
const std::string& fault();
// Returns the error that any call reports first: an old driver or no device.
cudaError_t health();
// As health(), for calls that a capture refuses; the refusal spoils the capture.
cudaError_t health_outside_captures();
// Returns true if a stream holds work that has not run.
bool has_pending_work();

// What cudaSetDevice() has set.
int& current_device();

// The value that cudaGetLastError() returns next, set when the runtime refuses memory.
cudaError_t& last_error();

// open_memory() opens protected device memory: for kernels and libraries each block once they touch
// it, for copies single blocks at once. The end of the last Access closes it.
void open_memory();
void open_memory(const void* address, std::size_t bytes);
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

// Return true if all bytes are device memory that the program holds, or pinned host memory.
bool is_on_device(const void* address, std::size_t bytes);
bool is_pinned(const void* address, std::size_t bytes);

}  // namespace cuda_emulation
