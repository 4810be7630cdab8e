#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline {

// A limit that the system sets to this process's memory, as it is now.
struct MemoryLimit {
  std::string name;             // "memory.max of cgroup /jobs/7"
  std::size_t limit_bytes = 0;  // all that it permits
  std::size_t used_bytes = 0;   // of it, by all processes that it limits

  std::size_t free_bytes() const noexcept {
    return limit_bytes - std::min(limit_bytes, used_bytes);
  }
};

// Returns the one with the fewest free bytes; nothing if there is none.
inline std::optional<MemoryLimit> tightest(const std::vector<MemoryLimit>& limits) {
  const auto least = std::ranges::min_element(limits, {}, &MemoryLimit::free_bytes);
  return least == limits.end() ? std::nullopt : std::optional(*least);
}

}  // namespace skyline
