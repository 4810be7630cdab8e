#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/alignment.h"

namespace skyline {

// Bytes of live blocks, wherever they are served. Separate sums of both directions keep the
// additions of a request independent of those of the release before it.
struct LiveBytes {
  std::size_t requested_in = 0, requested_out = 0, peak_requested = 0;
  std::size_t rounded_in = 0, rounded_out = 0, peak_rounded = 0;

  // As align_request(), without its check for overflow: a device has served these bytes, and the
  // check costs a nanosecond of a planned request.
  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + (bytes == 0) + kAlignmentBytes - 1) & ~(kAlignmentBytes - 1);
  }
  void acquired(std::size_t bytes) noexcept {
    requested_in += bytes;
    rounded_in += rounded(bytes);
    if (requested_in - requested_out > peak_requested) {
      peak_requested = requested_in - requested_out;
    }
    if (rounded_in - rounded_out > peak_rounded) peak_rounded = rounded_in - rounded_out;
  }
  void released(std::size_t bytes) noexcept {
    requested_out += bytes;
    rounded_out += rounded(bytes);
  }
};

// Totals of an arena that the hot path does not touch.
struct ArenaCounters {
  std::uint64_t within_plan = 0;        // requests that have a place in the plan, of settled steps
  std::uint64_t left_out = 0;           // of those, never made; includes the running step
  std::uint64_t elsewhere = 0;          // of those, served elsewhere; includes the running step
  std::uint64_t beyond_plan = 0;        // requests without a place, and those outside of steps
  std::uint64_t in_order_releases = 0;  // of settled steps
  std::uint64_t slow_releases = 0;
  std::uint64_t commits = 0, decommits = 0;
  std::size_t peak_reserved_bytes = 0, recent_peak_reserved_bytes = 0;

  void observe_reserved(std::size_t bytes) noexcept {
    peak_reserved_bytes = std::max(peak_reserved_bytes, bytes);
    recent_peak_reserved_bytes = std::max(recent_peak_reserved_bytes, bytes);
  }
};

}  // namespace skyline
