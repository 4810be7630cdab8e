#pragma once

#include <cstdint>
#include <optional>

#include "memory/device/device_account.h"

namespace skyline {

// Addresses without memory, for dry runs and replays of any size. Addresses go up, each allocation
// and range starts on a 2 MiB boundary, and none is ever used again (ALLOCATORS.md). The capacity
// counts the bytes asked for; ranges commit in multiples of `commit_bytes`, as the host's do of
// 4 KiB. Outlives its ranges.
class SimulatedDevice final : public Device {
 public:
  // Address space, and the capacity where none is given.
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
  std::uint64_t next_address_ = kHugePageBytes;  // not 0: null is no address
};

}  // namespace skyline
