#pragma once

#include <cstddef>

#include "memory/allocator.h"

namespace skyline {

// Hands every request to the operating system's malloc and every release to its free: what a
// program pays that keeps no pool. Addresses are aligned to 64 bytes, all that the kernels ask for.
// What malloc reserves for itself is not known: reserved bytes are the live ones.
class MallocAllocator final : public Allocator {
 public:
  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override { return statistics_; }

 private:
  Statistics statistics_;
};

}  // namespace skyline
