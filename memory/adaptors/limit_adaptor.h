#pragma once

#include "memory/adaptors/adaptor.h"

namespace skyline {

// Refuses requests that would raise the live bytes above a limit, each request rounded up to 512.
// Throws OutOfMemory (kLimit); its statistics count these refusals.
class LimitAdaptor final : public Adaptor {
 public:
  LimitAdaptor(Allocator& upstream, std::size_t limit_bytes)
      : Adaptor(upstream), limit_bytes_(limit_bytes) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;

  std::size_t limit_bytes() const noexcept { return limit_bytes_; }
  std::size_t live_bytes() const noexcept { return live_bytes_; }

 private:
  std::size_t limit_bytes_;
  std::size_t live_bytes_ = 0;
  std::uint64_t refusals_ = 0;
};

}  // namespace skyline
