#pragma once

#include <cstddef>

#include "memory/allocator.h"

namespace skyline {

// Passes every request to the operating system's malloc and every release to its free: the cost of
// a program without a pool. Addresses are aligned to 64 bytes, which is all that kernels need.
// Reserved bytes are the live ones, because malloc does not tell what it reserves.
class MallocAllocator final : public Allocator {
 public:
  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override { return statistics_; }

 private:
  Statistics statistics_;
};

}  // namespace skyline
