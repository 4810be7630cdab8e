#pragma once

#include <chrono>

namespace skyline {

// The time of a clock that never jumps; only differences mean something.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace skyline
