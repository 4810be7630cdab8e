#pragma once

#include <cstddef>

namespace skyline {

// A pool of a device's driver, which takes memory and gives it back in the order of the device's
// default stream: a block freed there may be handed out again to what is enqueued later.
class StreamPool {
 public:
  virtual ~StreamPool() = default;
  // `bytes` > 0. Throws OutOfMemory.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void deallocate(std::byte* address) noexcept = 0;
  // What the pool holds of the device, as its driver says.
  virtual std::size_t reserved_bytes() const noexcept = 0;
  // Gives back what is free, after all that was enqueued.
  virtual void release() noexcept = 0;
};

}  // namespace skyline
