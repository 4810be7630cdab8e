#pragma once

#include <bit>
#include <cstdint>

#include "framework/host_device.h"

namespace skyline {

// exp(x) for x <= 0 within 2 ulp; 0 below the smallest normal number; NaN for NaN. Has no branches
// and calls, so that compilers vectorize loops around it (std::exp would cost 3 ns an element), and
// gives the same bits on every device. The polynomial is that of Cephes's expf; x = n ln 2 + r with
// |r| <= ln 2 / 2, ln 2 split in two.
SKYLINE_HOST_DEVICE inline float exponential(float x) {
  constexpr float kSmallest = -87.33654f;         // ln(2^-126)
  constexpr float kRoundToInteger = 12582912.0f;  // 1.5 * 2^23: adding it leaves no fraction bits
  const float clamped = x < kSmallest ? kSmallest : x;
  const float shifted = clamped * 1.44269504088896341f + kRoundToInteger;
  const float n = shifted - kRoundToInteger;
  const float r = clamped - n * 0.693359375f - n * -2.12194440e-4f;
  float series = 1.9875691500e-4f;
  series = series * r + 1.3981999507e-3f;
  series = series * r + 8.3334519073e-3f;
  series = series * r + 4.1665795894e-2f;
  series = series * r + 1.6666665459e-1f;
  series = series * r + 5.0000001201e-1f;
  const float fraction = series * r * r + r + 1.0f;
  // The low bits of `shifted` are n; n + 127 in the exponent field is 2^n.
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) << 23) + (127u << 23);
  return x < kSmallest ? 0.0f : fraction * std::bit_cast<float>(power);
}

}  // namespace skyline
