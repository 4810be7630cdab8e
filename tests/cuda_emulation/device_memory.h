#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cuda_emulation {

// Counts a call; true for the one that the countdown selects.
bool has_come(std::optional<std::uint64_t>& countdown);

// The device's first answer to any call: whether it exists.
cudaError_t health();
// The next answer of cudaGetLastError(), set if the runtime refuses memory.
cudaError_t& last_error();

// While an opening lives, protected device memory is accessible: all of it to kernels and
// libraries, single blocks to copies. The last one to end closes all.
void open_memory();
void open_memory(const void* address, std::size_t bytes);
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

// True if all bytes are device memory that the program holds, or pinned host memory.
bool is_on_device(const void* address, std::size_t bytes);
bool is_pinned(const void* address, std::size_t bytes);

}  // namespace cuda_emulation
