#include "memory/adaptors/checking_adaptor.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
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

}  // namespace

SharedBytes::SharedBytes(const Extent& granted, BlockTag granted_tag, const Extent& live,
                         BlockTag live_tag)
    : std::logic_error(fmt::format("[checking] bytes shared: {} overlaps live {}",
                                   described(granted, granted_tag), described(live, live_tag))),
      granted_tag_(std::move(granted_tag)),
      live_tag_(std::move(live_tag)) {}

Extent CheckingAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  const Extent extent = upstream().acquire(bytes, tag);
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

}  // namespace skyline
