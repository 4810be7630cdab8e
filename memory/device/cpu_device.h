#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>

#include "memory/device/device_account.h"
#include "memory/machine/machine_memory.h"

namespace skyline {

// The open pages of a device: their bytes by address.
using OpenPages = std::map<const std::byte*, std::size_t>;

// Addresses that a device has reserved at once, so that two comparisons tell whose a block is.
// Takes the first free ones behind those taken last: seldom more than O(log pieces taken).
class AddressSpan {
 public:
  // Holds nothing when the system refuses.
  explicit AddressSpan(std::size_t bytes);
  ~AddressSpan();
  AddressSpan(const AddressSpan&) = delete;
  AddressSpan& operator=(const AddressSpan&) = delete;

  const std::byte* base() const noexcept { return base_; }
  std::size_t bytes() const noexcept { return bytes_; }

  // Returns inaccessible pages at a multiple of `alignment`; null when there are none. Throws
  // std::bad_alloc.
  std::byte* take(std::size_t bytes, std::size_t alignment);
  void give_back(std::byte* first) noexcept;  // and what the pages held

 private:
  std::byte* base_ = nullptr;
  std::byte* behind_last_ = base_;
  std::size_t bytes_ = 0;
  std::map<std::byte*, std::size_t> taken_;
};

// Host memory from the operating system, page-aligned. Allocations of 2 MiB and more start on a
// huge page and request huge pages. A range is inaccessible address space; commit() opens its
// pages, which become resident when first touched. Outlives its ranges.
class CpuDevice final : public Device {
 public:
  // Default capacity: what the machine and the limits of this process leave it, see
  // machine_memory(). `root` as there.
  explicit CpuDevice(std::optional<std::size_t> capacity_bytes = {},
                     const std::filesystem::path& root = "/");
  // The same with all addresses from a span, which outlives the device.
  explicit CpuDevice(AddressSpan& span) : CpuDevice() { span_ = &span; }

  std::string_view name() const noexcept override { return "cpu"; }
  bool has_memory() const noexcept override { return true; }
  std::size_t capacity_bytes() const noexcept override { return account_.capacity_bytes(); }
  std::size_t address_bytes() const noexcept override;
  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* address, std::size_t bytes) noexcept override;
  std::unique_ptr<Range> reserve(std::size_t bytes) override;
  std::size_t resident_bytes() const override;
  DeviceStatistics statistics() const noexcept override { return account_.statistics(); }

 private:
  CpuDevice(MachineMemory memory, CgroupLimits cgroups);

  DeviceAccount account_;
  OpenPages pages_;
  AddressSpan* span_ = nullptr;  // null: the system's
};

}  // namespace skyline
