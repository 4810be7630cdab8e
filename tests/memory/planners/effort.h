#pragma once

#include <cstdint>

namespace skyline {

// How many random cases a test runs: all of them in a release build, a twentieth under sanitizers,
// which slow the planners down by as much.
constexpr std::uint64_t effort(std::uint64_t cases) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return cases / 20;
#else
  return cases;
#endif
}

}  // namespace skyline
