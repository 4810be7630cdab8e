// The source of raw bytes: allocations, ranges that grow, pools of a driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

namespace skyline {

// A pool of a device's driver, ordered by the stream on which the program computes: work enqueued
// after a free may get the freed block.
class StreamPool {
 public:
  StreamPool() = default;
  virtual ~StreamPool() = default;
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  // `bytes` > 0. Throws OutOfMemory.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void deallocate(std::byte* address) noexcept = 0;
  // Returns the device memory that the pool holds, as the driver reports it.
  virtual std::size_t reserved_bytes() const noexcept = 0;
  // Returns free memory to the device, after all enqueued work.
  virtual void release() noexcept = 0;
};

// Address space that is reserved once and committed on demand, so that an arena grows without
// moving. The destructor returns everything to the device.
class Range {
 public:
  Range() = default;
  virtual ~Range() = default;
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  virtual std::byte* base() const noexcept = 0;
  virtual std::size_t reserved_bytes() const noexcept = 0;   // address space
  virtual std::size_t committed_bytes() const noexcept = 0;  // usable from base()

  // Grows or shrinks the usable part to `bytes`, rounded up to the device's granularity. Addresses
  // stay, and so do the contents below the smaller of both sizes. Throws OutOfMemory when the
  // device refuses or `bytes` exceeds reserved_bytes().
  virtual void commit(std::size_t bytes) = 0;
};

// Counters of a device. Committed bytes of ranges count as reserved. A commit that grows a range is
// one allocation; one that shrinks it, or its destruction, is one free.
struct DeviceStatistics {
  std::size_t reserved_bytes = 0;
  std::size_t peak_reserved_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
};

// The source of raw bytes.
// Thread rule: one thread at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const noexcept = 0;

  // False when addresses are only numbers that must not be read or written.
  virtual bool has_memory() const noexcept = 0;

  // Access from the host, after all enqueued work; for guards and poison, not for speed. Requires
  // has_memory(). fill() repeats the bytes of `pattern`.
  virtual void fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept;
  virtual void read(void* host, const std::byte* from, std::size_t bytes) const noexcept;

  // Returns how many of its reserved bytes lie in the process's resident set, as far as they were
  // touched; 0 for memory that is not the host's. Milliseconds.
  virtual std::size_t resident_bytes() const { return 0; }

  // Returns the maximum of reserved bytes.
  virtual std::size_t capacity_bytes() const noexcept = 0;

  // Returns how much address space one range may take now, so that enough is left for everything
  // else.
  virtual std::size_t address_bytes() const noexcept {
    return std::numeric_limits<std::size_t>::max();
  }

  // `bytes` > 0. The address is aligned to at least 512 bytes, on the host to a page. Throws
  // OutOfMemory.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  // `bytes` as given to allocate.
  virtual void deallocate(std::byte* address, std::size_t bytes) noexcept = 0;

  // Reserves address space for `bytes` and commits none of it. Throws OutOfMemory.
  virtual std::unique_ptr<Range> reserve(std::size_t bytes) = 0;

  // Makes a pool of the device's driver. Throws std::invalid_argument when there is none.
  virtual std::unique_ptr<StreamPool> stream_pool();

  virtual DeviceStatistics statistics() const noexcept = 0;
};

}  // namespace skyline
