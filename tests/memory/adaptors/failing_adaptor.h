#pragma once

#include <cstdint>
#include <optional>

#include "memory/adaptors/adaptor.h"

namespace skyline {

// Test double: fails the n-th request only, with OutOfMemory (kInjected). Its statistics count the
// failure.
class FailingAdaptor final : public Adaptor {
 public:
  explicit FailingAdaptor(Allocator& upstream) : Adaptor(upstream) {}

  // Makes request `index` fail; 0 is the next one.
  void fail_request(std::uint64_t index) noexcept { countdown_ = index; }
  void disarm() noexcept { countdown_.reset(); }
  // True until the armed failure has happened.
  bool armed() const noexcept { return countdown_.has_value(); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  Statistics statistics() const override;

 private:
  std::optional<std::uint64_t> countdown_;  // requests to serve before the failure
  std::uint64_t failures_ = 0;
};

}  // namespace skyline
