#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/alignment.h"

namespace skyline {

// Divides a workspace into parts, each aligned to 64 bytes, where vector loads are widest.
class WorkspaceLayout {
 public:
  // Returns the offset of a new part.
  std::size_t add(std::size_t bytes) {
    constexpr std::size_t kVectorBytes = 64;
    const std::size_t offset = bytes_;
    bytes_ += align_up(bytes, kVectorBytes);
    return offset;
  }
  std::size_t add_floats(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(float));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace skyline
