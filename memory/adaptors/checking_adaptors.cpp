#include "memory/adaptors/checking_adaptors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace skyline {
namespace {

std::string described(const Extent& extent, const BlockTag& tag) {
  return fmt::format("{}, {} bytes at {}", tag_name(tag.view()), extent.bytes,
                     static_cast<const void*>(extent.address));
}

const std::byte* end_of(const Extent& extent) noexcept {
  return extent.address + std::max<std::size_t>(extent.bytes, 1);
}

constexpr std::size_t kGuardsBytes = 2 * GuardAdaptor::kGuardBytes;

constexpr std::uint32_t kGuardWord = 0x01010101u * static_cast<std::uint32_t>(GuardAdaptor::kGuard);

std::string sentence(const BlockTag& tag, std::size_t bytes, std::ptrdiff_t offset) {
  return fmt::format("[guard] bytes outside of a block were written: {}, {} bytes, at offset {}",
                     tag_name(tag.view()), bytes, offset);
}

}  // namespace

SharedBytes::SharedBytes(const Extent& granted, BlockTag granted_tag, const Extent& live,
                         BlockTag live_tag)
    : std::logic_error(fmt::format("[checking] bytes shared: {} overlaps live {}",
                                   described(granted, granted_tag), described(live, live_tag))),
      granted_tag_(std::move(granted_tag)),
      live_tag_(std::move(live_tag)) {}

Extent CheckingAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  const Extent extent = upstream().acquire(bytes, tag);
  if (extent.address == nullptr) return extent;  // no bytes to share
  try {
    BlockTag granted_tag(tag);
    if (const Live* live = overlapping(extent)) {
      throw SharedBytes(extent, std::move(granted_tag), live->extent, live->tag);
    }
    live_.emplace(extent.address, Live{extent, std::move(granted_tag)});
  } catch (...) {
    upstream().release(extent);
    throw;
  }
  return extent;
}

void CheckingAdaptor::release(const Extent& extent) noexcept {
  live_.erase(extent.address);
  upstream().release(extent);
}

// Live blocks are disjoint, so only the last one that starts before the end can overlap.
const CheckingAdaptor::Live* CheckingAdaptor::overlapping(const Extent& extent) const noexcept {
  auto next = live_.lower_bound(end_of(extent));
  if (next == live_.begin()) return nullptr;
  const Live& before = std::prev(next)->second;
  return end_of(before.extent) > extent.address ? &before : nullptr;
}

MemoryCorruption::MemoryCorruption(BlockTag tag, std::size_t block_bytes, std::ptrdiff_t offset)
    : std::runtime_error(sentence(tag, block_bytes, offset)),
      tag_(std::move(tag)),
      block_bytes_(block_bytes),
      offset_(offset) {}

Extent GuardAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  throw_remembered();
  live_.reserve_one();
  Live block{.bytes = bytes, .tag = BlockTag(tag)};
  const std::size_t most_bytes = std::numeric_limits<std::size_t>::max() - kGuardsBytes;
  const Extent outer = upstream().acquire(std::min(bytes, most_bytes) + kGuardsBytes, tag);
  block.address = outer.address + kGuardBytes;
  block.upstream_cookie = outer.cookie;
  if (device_ != nullptr) {
    device_->fill(outer.address, kGuardBytes, kGuardWord);
    device_->fill(block.address, bytes, kFreshPoison);
    device_->fill(block.address + bytes, kGuardBytes, kGuardWord);
  }
  account_.served(bytes, 0);
  std::byte* address = block.address;
  return {address, bytes, live_.insert(std::move(block))};
}

void GuardAdaptor::release(const Extent& extent) noexcept {
  Live block = live_.erase(extent.cookie);
  account_.released(block.bytes, 0);
  const Extent outer{block.address - kGuardBytes, block.bytes + kGuardsBytes,
                     block.upstream_cookie};
  if (device_ != nullptr) {
    const auto offset = damaged_offset(block);
    device_->fill(block.address, block.bytes, kFreedPoison);
    if (offset && !damage_) damage_ = Damage{std::move(block), *offset};
  }
  upstream().release(outer);
}

Statistics GuardAdaptor::statistics() const {
  Statistics statistics = upstream().statistics();
  const Statistics& callers = account_.now();
  statistics.requested_bytes = callers.requested_bytes;
  statistics.peak_requested_bytes = callers.peak_requested_bytes;
  statistics.rounded_bytes = callers.rounded_bytes;
  statistics.peak_rounded_bytes = callers.peak_rounded_bytes;
  return statistics;
}

void GuardAdaptor::end_step() {
  upstream().end_step();
  check();
}

void GuardAdaptor::check() {
  throw_remembered();
  if (device_ == nullptr) return;
  for (const auto& row : live_.rows()) {
    if (!row.live) continue;
    if (const auto offset = damaged_offset(row.entry)) {
      throw MemoryCorruption(row.entry.tag, row.entry.bytes, *offset);
    }
  }
}

// Returns the index of the first byte of a guard that is no longer kGuard.
std::optional<std::ptrdiff_t> GuardAdaptor::first_damaged(const std::byte* guard) const noexcept {
  std::array<std::byte, kGuardBytes> bytes;
  device_->read(bytes.data(), guard, kGuardBytes);
  const auto found = std::ranges::find_if(bytes, [](std::byte byte) { return byte != kGuard; });
  if (found == bytes.end()) return {};
  return found - bytes.begin();
}

std::optional<std::ptrdiff_t> GuardAdaptor::damaged_offset(const Live& block) const noexcept {
  constexpr auto kBefore = static_cast<std::ptrdiff_t>(kGuardBytes);
  if (const auto at = first_damaged(block.address - kGuardBytes)) return *at - kBefore;
  const auto behind = first_damaged(block.address + block.bytes);
  if (!behind) return {};
  return *behind + static_cast<std::ptrdiff_t>(block.bytes);
}

void GuardAdaptor::throw_remembered() {
  if (!damage_) return;
  Damage damage = std::move(*damage_);
  damage_.reset();
  throw MemoryCorruption(std::move(damage.block.tag), damage.block.bytes, damage.offset);
}

}  // namespace skyline
