#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "memory/alignment.h"
#include "memory/device/device.h"
#include "memory/machine/machine_memory.h"

namespace skyline {

// Large allocations and ranges start on a huge page (x86-64).
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// Ranges of the host and of the simulated device commit in small pages: with huge ones, the arena
// of a small network would lose more in its last page than it saves.
inline constexpr std::size_t kCommitBytes = 4096;

// The system limits of a device on the host; other devices have none.
struct SystemLimits {
  std::optional<MemoryLimit> capacity;  // the limit that the device's capacity comes from
  CgroupLimits cgroups = CgroupLimits::none();
};

// Counts the bytes that a device has handed out, as requested, and enforces its capacity and the
// limits of the process's cgroups.
class DeviceAccount {
 public:
  // `where` names the device in errors and outlives the account.
  DeviceAccount(std::string_view where, std::size_t capacity_bytes, SystemLimits limits = {})
      : where_(where), capacity_bytes_(capacity_bytes), limits_(std::move(limits)) {}

  // Throws OutOfMemory (kDevice) when `bytes` more would exceed the capacity or what is free of a
  // cgroup's limit.
  void require(std::size_t bytes) const;
  // Throws OutOfMemory (kDevice): the operating system refused `bytes`, because of `limit` if
  // known.
  [[noreturn]] void refuse(std::size_t bytes, const std::optional<MemoryLimit>& limit = {}) const;
  // Throws OutOfMemory (kLimit): a commit of `bytes` exceeds the `reserved_bytes` of its range,
  // which `limit` kept small if set.
  [[noreturn]] void refuse_range(std::size_t bytes, std::size_t reserved_bytes,
                                 const std::optional<MemoryLimit>& limit = {}) const;

  void take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept;
  std::size_t capacity_bytes() const noexcept { return capacity_bytes_; }
  const DeviceStatistics& statistics() const noexcept { return statistics_; }

 private:
  std::string_view where_;
  std::size_t capacity_bytes_;
  SystemLimits limits_;
  DeviceStatistics statistics_;
};

}  // namespace skyline
