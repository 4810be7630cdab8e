#include "memory/adaptors/guard_adaptor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kGuardsBytes = 2 * GuardAdaptor::kGuardBytes;

void fill(std::byte* address, std::size_t bytes, std::uint32_t pattern) noexcept {
  const std::size_t words = bytes / sizeof(pattern);
  std::fill_n(reinterpret_cast<std::uint32_t*>(address), words, pattern);
  std::memcpy(address + words * sizeof(pattern), &pattern, bytes % sizeof(pattern));
}

// The first byte that is no longer kGuard, or null.
const std::byte* first_damaged(const std::byte* guard) noexcept {
  const std::byte* end = guard + GuardAdaptor::kGuardBytes;
  const std::byte* found =
      std::find_if(guard, end, [](std::byte byte) { return byte != GuardAdaptor::kGuard; });
  return found == end ? nullptr : found;
}

std::string sentence(const BlockTag& tag, std::size_t bytes, std::ptrdiff_t offset) {
  return fmt::format("[guard] bytes outside of a block were written: {}, {} bytes, at offset {}",
                     tag_name({tag.op, tag.layer, tag.phase, tag.category}), bytes, offset);
}

}  // namespace

MemoryCorruption::MemoryCorruption(BlockTag tag, std::size_t block_bytes, std::ptrdiff_t offset)
    : std::runtime_error(sentence(tag, block_bytes, offset)),
      tag_(std::move(tag)),
      block_bytes_(block_bytes),
      offset_(offset) {}

Extent GuardAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  throw_remembered();
  live_.reserve_one();
  Live block{.bytes = bytes,
             .tag = {std::string(tag.op), std::string(tag.layer), tag.phase, tag.category}};
  const std::size_t most_bytes = std::numeric_limits<std::size_t>::max() - kGuardsBytes;
  const Extent outer = upstream().acquire(std::min(bytes, most_bytes) + kGuardsBytes, tag);
  block.address = outer.address + kGuardBytes;
  block.upstream_cookie = outer.cookie;
  if (touch_) {
    std::memset(outer.address, static_cast<int>(kGuard), kGuardBytes);
    fill(block.address, bytes, kFreshPoison);
    std::memset(block.address + bytes, static_cast<int>(kGuard), kGuardBytes);
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
  if (touch_) {
    const auto offset = damaged_offset(block);
    fill(block.address, block.bytes, kFreedPoison);
    if (offset && !damage_) damage_ = Damage{std::move(block), *offset};
  }
  upstream().release(outer);
}

Statistics GuardAdaptor::statistics() const {
  Statistics statistics = upstream().statistics();
  statistics.requested_bytes = account_.now().requested_bytes;
  statistics.peak_requested_bytes = account_.now().peak_requested_bytes;
  return statistics;
}

void GuardAdaptor::end_step() {
  upstream().end_step();
  check();
}

void GuardAdaptor::check() {
  throw_remembered();
  if (!touch_) return;
  for (const auto& row : live_.rows()) {
    if (!row.live) continue;
    if (const auto offset = damaged_offset(row.entry)) {
      throw MemoryCorruption(row.entry.tag, row.entry.bytes, *offset);
    }
  }
}

std::optional<std::ptrdiff_t> GuardAdaptor::damaged_offset(const Live& block) noexcept {
  const std::byte* damaged = first_damaged(block.address - kGuardBytes);
  if (damaged == nullptr) damaged = first_damaged(block.address + block.bytes);
  if (damaged == nullptr) return {};
  return damaged - block.address;
}

void GuardAdaptor::throw_remembered() {
  if (!damage_) return;
  Damage damage = std::move(*damage_);
  damage_.reset();
  throw MemoryCorruption(std::move(damage.block.tag), damage.block.bytes, damage.offset);
}

}  // namespace skyline
