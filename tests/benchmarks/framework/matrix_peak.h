#pragma once

#include <string_view>

namespace skyline {

// The peak of this machine's arithmetic, in FLOP/s on OpenMP's threads.
struct MatrixPeak {
  double product = 0;        // the best 2048 x 2048 x 2048 matrix product of oneDNN
  double multiply_adds = 0;  // fused multiply-adds on registers only: the processor's limit

  // Keeps the better of two measurements, because other programs only slow down.
  void improve(const MatrixPeak& other);
};

// Takes about half a second: the best of several runs each.
MatrixPeak measure_matrix_peak();

// Returns which kind of processor oneDNN takes this one for: "AVX-512", "AVX2" or "SSE".
std::string_view instructions();

}  // namespace skyline
