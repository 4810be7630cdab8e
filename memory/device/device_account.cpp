#include "memory/device/device_account.h"

#include <algorithm>
#include <string>

#include "memory/device/out_of_memory.h"

namespace skyline {
namespace {

// The kernel's own words have no numbers. What was free when the device took its capacity from the
// limit is no news.
void blame(OutOfMemoryFacts& facts, const MemoryLimit& limit) {
  facts.reason = limit.name;
  if (limit.limit_bytes == 0) return;
  facts.reason += " is reached";
  facts.system_limit_bytes = limit.limit_bytes;
  if (limit.free_bytes() < facts.requested_bytes) facts.system_free_bytes = limit.free_bytes();
}

}  // namespace

void DeviceAccount::require(std::size_t bytes) const {
  if (bytes > capacity_bytes_ - statistics_.reserved_bytes) refuse(bytes, limits_.capacity);
  const std::optional<MemoryLimit> limit = tightest(limits_.cgroups.now());
  if (limit && bytes > limit->free_bytes()) refuse(bytes, limit);
}

void DeviceAccount::refuse(std::size_t bytes, const std::optional<MemoryLimit>& limit) const {
  OutOfMemoryFacts facts{.where = std::string(where_),
                         .shortage = Shortage::kDevice,
                         .requested_bytes = bytes,
                         .reserved_bytes = statistics_.reserved_bytes,
                         .capacity_bytes = capacity_bytes_};
  if (limit) blame(facts, *limit);
  throw OutOfMemory(std::move(facts));
}

void DeviceAccount::refuse_range(std::size_t bytes, std::size_t reserved_bytes,
                                 const std::optional<MemoryLimit>& limit) const {
  OutOfMemoryFacts facts{.where = std::string(where_) + " range",
                         .shortage = Shortage::kLimit,
                         .requested_bytes = bytes,
                         .reserved_bytes = statistics_.reserved_bytes,
                         .capacity_bytes = reserved_bytes};
  if (limit) blame(facts, *limit);
  throw OutOfMemory(std::move(facts));
}

void DeviceAccount::take(std::size_t bytes) noexcept {
  statistics_.reserved_bytes += bytes;
  statistics_.peak_reserved_bytes =
      std::max(statistics_.peak_reserved_bytes, statistics_.reserved_bytes);
  ++statistics_.allocations;
}

void DeviceAccount::give_back(std::size_t bytes) noexcept {
  statistics_.reserved_bytes -= bytes;
  ++statistics_.frees;
}

}  // namespace skyline
