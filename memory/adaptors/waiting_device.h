#pragma once

#include <functional>
#include <memory>

#include "memory/device/device.h"

namespace skyline {

// A device whose bytes ops may still use when the program frees them, because they were enqueued:
// calls `wait` before bytes go back to the system or the host looks at them. Everything else is
// upstream's.
class WaitingDevice final : public Device {
 public:
  // `wait` returns once all ops are done; it does not throw.
  WaitingDevice(std::unique_ptr<Device> upstream, std::function<void()> wait);

  std::string_view name() const noexcept override { return upstream_->name(); }
  bool has_memory() const noexcept override { return upstream_->has_memory(); }
  void fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept override;
  void read(void* host, const std::byte* from, std::size_t bytes) const noexcept override;
  std::size_t resident_bytes() const override { return upstream_->resident_bytes(); }
  std::size_t capacity_bytes() const noexcept override { return upstream_->capacity_bytes(); }
  std::size_t address_bytes() const noexcept override { return upstream_->address_bytes(); }
  std::byte* allocate(std::size_t bytes) override { return upstream_->allocate(bytes); }
  void deallocate(std::byte* address, std::size_t bytes) noexcept override;
  std::unique_ptr<Range> reserve(std::size_t bytes) override;
  std::unique_ptr<StreamPool> stream_pool() override { return upstream_->stream_pool(); }
  DeviceStatistics statistics() const noexcept override { return upstream_->statistics(); }

 private:
  std::unique_ptr<Device> upstream_;
  std::function<void()> wait_;
};

}  // namespace skyline
