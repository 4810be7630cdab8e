#pragma once

#include <cstdint>
#include <optional>

#include "memory/device/device_account.h"

namespace skyline {

// Addresses without memory, for dry runs and replays of any size. Each allocation and range starts
// on a new 2 MiB boundary, upward; addresses are never reused. The capacity counts
// requested bytes. Ranges commit in multiples of `commit_bytes`. Outlives its ranges.
class SimulatedDevice final : public Device {
 public:
  // The address space, and the default capacity.
  static constexpr std::size_t kAddressSpaceBytes = std::size_t{1} << 62;

  explicit SimulatedDevice(std::optional<std::size_t> capacity_bytes = {},
                           std::size_t commit_bytes = kCommitBytes);

  std::string_view name() const noexcept override { return "simulated"; }
  bool has_memory() const noexcept override { return false; }
  std::size_t capacity_bytes() const noexcept override { return account_.capacity_bytes(); }
  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* address, std::size_t bytes) noexcept override;
  std::unique_ptr<Range> reserve(std::size_t bytes) override;
  DeviceStatistics statistics() const noexcept override { return account_.statistics(); }

 private:
  // Throws OutOfMemory when the address space is used up.
  std::byte* take_addresses(std::size_t bytes);

  DeviceAccount account_;
  std::size_t commit_bytes_;
  std::uint64_t next_address_ = kHugePageBytes;  // not 0, which is null
};

}  // namespace skyline
