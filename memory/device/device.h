#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "memory/device/stream_pool.h"

namespace skyline {

// Address space reserved once and committed as it grows, so that an arena grows without moving.
// Destroying a range gives everything back to its device.
class Range {
 public:
  virtual ~Range() = default;
  virtual std::byte* base() const noexcept = 0;
  virtual std::size_t reserved_bytes() const noexcept = 0;   // address space
  virtual std::size_t committed_bytes() const noexcept = 0;  // usable from base()

  // Grows or shrinks the usable part to at least `bytes` (rounded up to the device's granularity).
  // Addresses stay; bytes below the smaller of old and new size keep their contents.
  // Throws OutOfMemory when the device refuses or `bytes` passes reserved_bytes().
  virtual void commit(std::size_t bytes) = 0;
};

// What a device has handed out. Committed bytes of ranges count as reserved; a commit that grows a
// range counts as one allocation, one that shrinks it (and its destruction) as one free.
struct DeviceStatistics {
  std::size_t reserved_bytes = 0;
  std::size_t peak_reserved_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
};

// Where bytes come from. Hands out raw bytes, takes them back and says its capacity.
// Thread rule: one thread at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const noexcept = 0;

  // False when addresses are only numbers: nothing may be read or written there.
  virtual bool has_memory() const noexcept = 0;

  // Bytes seen and changed from the host, after all that the device is still at: for guards and
  // poison, not for speed. Only where has_memory(). `fill` repeats the bytes of `pattern`.
  virtual void fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept;
  virtual void read(void* host, const std::byte* from, std::size_t bytes) const noexcept;

  // The most bytes that can be reserved at once.
  virtual std::size_t capacity_bytes() const noexcept = 0;

  // `bytes` > 0. The address is aligned to at least 512 bytes; on the host to a page. Throws
  // OutOfMemory.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  // `bytes` as given to allocate.
  virtual void deallocate(std::byte* address, std::size_t bytes) noexcept = 0;

  // Reserves address space for at most `bytes`, nothing committed. Throws OutOfMemory.
  virtual std::unique_ptr<Range> reserve(std::size_t bytes) = 0;

  // A pool of the device's driver. Throws std::invalid_argument where there is none.
  virtual std::unique_ptr<StreamPool> stream_pool();

  virtual DeviceStatistics statistics() const noexcept = 0;
};

}  // namespace skyline
