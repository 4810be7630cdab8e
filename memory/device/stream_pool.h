#pragma once

#include <cstddef>

namespace skyline {

// A pool of a device's driver, ordered by the stream on which the program computes: work enqueued
// after a free may get the freed block.
class StreamPool {
 public:
  virtual ~StreamPool() = default;
  // `bytes` > 0. Throws OutOfMemory.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void deallocate(std::byte* address) noexcept = 0;
  // Returns the device memory that the pool holds, as the driver reports it.
  virtual std::size_t reserved_bytes() const noexcept = 0;
  // Returns free memory to the device, after all enqueued work.
  virtual void release() noexcept = 0;
};

}  // namespace skyline
