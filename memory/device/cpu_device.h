#pragma once

#include <optional>

#include "memory/device/device_account.h"

namespace skyline {

// Host memory from the operating system, page-aligned. Allocations of 2 MiB and more start on a
// huge page and request huge pages. A range is inaccessible address space; commit() opens its
// pages, which become resident when first touched. Outlives its ranges.
class CpuDevice final : public Device {
 public:
  // Default capacity: the machine's physical memory.
  explicit CpuDevice(std::optional<std::size_t> capacity_bytes = {});

  std::string_view name() const noexcept override { return "cpu"; }
  bool has_memory() const noexcept override { return true; }
  std::size_t capacity_bytes() const noexcept override { return account_.capacity_bytes(); }
  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* address, std::size_t bytes) noexcept override;
  std::unique_ptr<Range> reserve(std::size_t bytes) override;
  DeviceStatistics statistics() const noexcept override { return account_.statistics(); }

 private:
  DeviceAccount account_;
};

}  // namespace skyline
