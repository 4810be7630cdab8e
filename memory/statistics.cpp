#include "memory/statistics.h"

#include <algorithm>

namespace skyline {

double Statistics::external_fragmentation() const noexcept {
  const std::size_t free_bytes = cached_bytes();
  if (free_bytes == 0) return 0;
  return static_cast<double>(free_bytes - std::min(free_bytes, largest_free_block_bytes)) /
         static_cast<double>(free_bytes);
}

}  // namespace skyline
