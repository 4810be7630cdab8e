#pragma once

#include <memory>

#include "memory/allocators/account.h"
#include "memory/device/device.h"
#include "memory/device/stream_pool.h"

namespace skyline {

// The driver's own pool (cudaMallocAsync), one call to it a request: what a program gets on a GPU
// without an allocator of its own. Memory is handed out and taken back in the order of the default
// stream, on which all ops run. The pool keeps what it has taken; release_cached() gives it back.
//
// Allocated counts bytes as rounded to kAlignmentBytes; what the driver rounds to, it does not
// tell. Throws OutOfMemory as the device says.
class CudaAsync final : public Allocator {
 public:
  // The device outlives the allocator. Throws std::invalid_argument where it has no such pool.
  explicit CudaAsync(Device& device);
  CudaAsync(const CudaAsync&) = delete;
  CudaAsync& operator=(const CudaAsync&) = delete;

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override { return account_.now(); }
  void release_cached() noexcept override;

 private:
  void observe_reserved() noexcept;

  std::unique_ptr<StreamPool> pool_;
  Account account_;
};

}  // namespace skyline
