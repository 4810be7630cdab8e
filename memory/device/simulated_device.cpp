#include "memory/device/simulated_device.h"

#include <algorithm>

namespace skyline {
namespace {

class SimulatedRange final : public Range {
 public:
  SimulatedRange(DeviceAccount& account, std::byte* base, std::size_t reserved_bytes,
                 std::size_t commit_bytes) noexcept
      : account_(account),
        base_(base),
        reserved_bytes_(reserved_bytes),
        commit_bytes_(commit_bytes) {}
  ~SimulatedRange() override {
    if (committed_bytes_ > 0) account_.give_back(committed_bytes_);
  }

  std::byte* base() const noexcept override { return base_; }
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  std::size_t committed_bytes() const noexcept override { return committed_bytes_; }

  void commit(std::size_t bytes) override {
    if (bytes > reserved_bytes_) account_.refuse_range(bytes, reserved_bytes_);
    const std::size_t wanted_bytes = align_up(bytes, commit_bytes_);
    if (wanted_bytes > committed_bytes_) {
      account_.require(wanted_bytes - committed_bytes_);
      account_.take(wanted_bytes - committed_bytes_);
    }
    if (wanted_bytes < committed_bytes_) account_.give_back(committed_bytes_ - wanted_bytes);
    committed_bytes_ = wanted_bytes;
  }

 private:
  DeviceAccount& account_;
  std::byte* base_;
  std::size_t reserved_bytes_, commit_bytes_;
  std::size_t committed_bytes_ = 0;
};

}  // namespace

SimulatedDevice::SimulatedDevice(std::optional<std::size_t> capacity_bytes,
                                 std::size_t commit_bytes)
    : account_("simulated",
               std::min(capacity_bytes.value_or(kAddressSpaceBytes), kAddressSpaceBytes)),
      commit_bytes_(commit_bytes) {}

std::byte* SimulatedDevice::take_addresses(std::size_t bytes) {
  if (bytes > kAddressSpaceBytes - next_address_) account_.refuse(bytes);
  const std::uint64_t address = next_address_;
  next_address_ = align_up(address + bytes, kHugePageBytes);
  return reinterpret_cast<std::byte*>(address);
}

std::byte* SimulatedDevice::allocate(std::size_t bytes) {
  account_.require(bytes);
  std::byte* address = take_addresses(bytes);
  account_.take(bytes);
  return address;
}

void SimulatedDevice::deallocate(std::byte*, std::size_t bytes) noexcept {
  account_.give_back(bytes);
}

std::unique_ptr<Range> SimulatedDevice::reserve(std::size_t bytes) {
  const std::size_t reserved_bytes = align_up(bytes, kHugePageBytes);
  return std::make_unique<SimulatedRange>(account_, take_addresses(reserved_bytes), reserved_bytes,
                                          commit_bytes_);
}

}  // namespace skyline
