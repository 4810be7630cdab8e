#pragma once

#include <memory>

#include "memory/allocators/account.h"
#include "memory/device/device.h"

namespace skyline {

// The driver's own pool (cudaMallocAsync), one driver call a request: what a program without an
// allocator uses on a GPU. Requests and releases are ordered by the stream on which all ops run.
// The pool keeps its memory until release_cached().
//
// Allocated counts bytes rounded to kAlignmentBytes, because the driver does not report its own
// rounding. Throws OutOfMemory with the device's reason.
class CudaAsync final : public Allocator {
 public:
  // The device outlives the allocator. Throws std::invalid_argument if it has no such pool.
  explicit CudaAsync(Device& device);

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
