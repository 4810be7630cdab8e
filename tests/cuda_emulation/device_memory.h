#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cuda_emulation {

// Counts a call; true for the one that the countdown is for.
bool has_come(std::optional<std::uint64_t>& countdown);

// What the device answers before anything else: that it is there.
cudaError_t health();
// What cudaGetLastError() answers next: set where the runtime refuses memory.
cudaError_t& last_error();

// While one lives, protected device memory may be opened: all of it to kernels and libraries, the
// blocks of some bytes to copies. With the last one all is closed.
void open_memory();
void open_memory(const void* address, std::size_t bytes);
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

// Whether all of the bytes are device memory that the program holds, or pinned memory of the host.
bool is_on_device(const void* address, std::size_t bytes);
bool is_pinned(const void* address, std::size_t bytes);

}  // namespace cuda_emulation
