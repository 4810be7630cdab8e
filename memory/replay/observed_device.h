#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "memory/device/device.h"

namespace skyline {

// What changed in the memory that an allocator holds of its device.
struct SegmentChange {
  enum class Kind : std::uint8_t {
    kAllocated,  // a segment of its own
    kFreed,
    kMapped,  // a range grew by these bytes
    kUnmapped,
  };
  Kind kind = Kind::kAllocated;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// A device that notes what is taken from it and given back, and passes everything on to an
// upstream, which outlives it.
class ObservedDevice final : public Device {
 public:
  explicit ObservedDevice(Device& upstream) : upstream_(upstream) {}

  std::string_view name() const noexcept override { return upstream_.name(); }
  bool has_memory() const noexcept override { return upstream_.has_memory(); }
  std::size_t capacity_bytes() const noexcept override { return upstream_.capacity_bytes(); }
  void fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept override {
    upstream_.fill(to, bytes, pattern);
  }
  void read(void* host, const std::byte* from, std::size_t bytes) const noexcept override {
    upstream_.read(host, from, bytes);
  }
  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* address, std::size_t bytes) noexcept override;
  std::unique_ptr<Range> reserve(std::size_t bytes) override;
  std::unique_ptr<StreamPool> stream_pool() override { return upstream_.stream_pool(); }
  DeviceStatistics statistics() const noexcept override { return upstream_.statistics(); }

  // The changes since the last call, in their order.
  std::vector<SegmentChange> take_changes();

 private:
  class ObservedRange;
  void make_room();
  void note(SegmentChange change) noexcept;

  Device& upstream_;
  std::vector<SegmentChange> changes_;  // room for what is alive to be given back
  std::size_t alive_ = 0;               // segments and ranges
};

}  // namespace skyline
