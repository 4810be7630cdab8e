#include "memory/adaptors/waiting_device.h"

#include <utility>

namespace skyline {
namespace {

class WaitingRange final : public Range {
 public:
  WaitingRange(std::unique_ptr<Range> upstream, const std::function<void()>& wait)
      : upstream_(std::move(upstream)), wait_(wait) {}
  ~WaitingRange() override { wait_(); }

  std::byte* base() const noexcept override { return upstream_->base(); }
  std::size_t reserved_bytes() const noexcept override { return upstream_->reserved_bytes(); }
  std::size_t committed_bytes() const noexcept override { return upstream_->committed_bytes(); }
  void commit(std::size_t bytes) override {
    if (bytes < committed_bytes()) wait_();
    upstream_->commit(bytes);
  }

 private:
  std::unique_ptr<Range> upstream_;
  const std::function<void()>& wait_;  // the device's
};

}  // namespace

WaitingDevice::WaitingDevice(std::unique_ptr<Device> upstream, std::function<void()> wait)
    : upstream_(std::move(upstream)), wait_(std::move(wait)) {}

void WaitingDevice::fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept {
  wait_();
  upstream_->fill(to, bytes, pattern);
}

void WaitingDevice::read(void* host, const std::byte* from, std::size_t bytes) const noexcept {
  wait_();
  upstream_->read(host, from, bytes);
}

void WaitingDevice::deallocate(std::byte* address, std::size_t bytes) noexcept {
  wait_();
  upstream_->deallocate(address, bytes);
}

std::unique_ptr<Range> WaitingDevice::reserve(std::size_t bytes) {
  return std::make_unique<WaitingRange>(upstream_->reserve(bytes), wait_);
}

}  // namespace skyline
