#pragma once

#include <cstdint>
#include <cstdlib>
#include <ranges>
#include <string>

namespace skyline {

// True with SKYLINE_TEST_LONG set, as `tests/run.sh --long` does at night.
inline bool runs_at_night() { return std::getenv("SKYLINE_TEST_LONG") != nullptr; }

// True if tests run all of their cases. Sanitizers slow them down about twentyfold, so sanitizer
// builds run all only at night.
inline bool runs_all_cases() {
#ifdef SKYLINE_SANITIZED
  return runs_at_night();
#else
  return true;
#endif
}

// Number of cases for a test: all, or a twentieth.
inline std::uint64_t effort(std::uint64_t all) { return runs_all_cases() ? all : all / 20; }

// Number of cases for a claim about more than every run has time for: `many` at night.
inline std::uint64_t cases(std::uint64_t few, std::uint64_t many) {
  return runs_at_night() ? many : few;
}

// Added to the seeds of random cases: SKYLINE_TEST_SEED, or 0, so that every run has the same
// cases.
inline std::uint64_t first_seed() {
  const char* given = std::getenv("SKYLINE_TEST_SEED");
  return given == nullptr ? 0 : std::stoull(given);
}

// Seeds for that many random cases, from `first` on: for (const std::uint64_t seed : seeds(100)).
inline auto seeds(std::uint64_t count, std::uint64_t first = 0) {
  const std::uint64_t begin = first_seed() + first;
  return std::views::iota(begin, begin + effort(count));
}

}  // namespace skyline
