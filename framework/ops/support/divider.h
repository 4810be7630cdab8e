#pragma once

#include <cstdint>

#include "framework/host_device.h"

namespace skyline {

// Division by a number known before a kernel starts, as one multiplication by ceil(2^64 / divisor)
// (Granlund and Montgomery 1994, "Division by invariant integers using multiplication"), because a
// GPU has no instruction that divides. Exact while dividend * divisor < 2^64.
class Divider {
 public:
  struct Result {
    std::int64_t quotient, remainder;
  };

  // `divisor` is at least 1.
  explicit Divider(std::int64_t divisor)
      : divisor_(divisor),
        inverse_(divisor == 1 ? 0 : ~std::uint64_t{0} / static_cast<std::uint64_t>(divisor) + 1) {}

  // `dividend` is at least 0.
  SKYLINE_HOST_DEVICE Result operator()(std::int64_t dividend) const {
    const auto product =
        static_cast<unsigned __int128>(inverse_) * static_cast<std::uint64_t>(dividend);
    const std::int64_t quotient =
        inverse_ == 0 ? dividend : static_cast<std::int64_t>(product >> 64);
    return {quotient, dividend - quotient * divisor_};
  }

 private:
  std::int64_t divisor_;
  std::uint64_t inverse_;
};

}  // namespace skyline
