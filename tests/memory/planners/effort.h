#pragma once

#include <cstdint>

namespace skyline {

// Number of random cases for a test: all in a release build, a twentieth under sanitizers, which
// slow planners down about that much.
constexpr std::uint64_t effort(std::uint64_t cases) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return cases / 20;
#else
  return cases;
#endif
}

}  // namespace skyline
