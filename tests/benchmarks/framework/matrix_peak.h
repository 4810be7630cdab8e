#pragma once

namespace skyline {

// What this machine's arithmetic is measured against, in FLOP/s on OpenMP's threads.
struct MatrixPeak {
  double product = 0;        // the best matrix product 2048 x 2048 x 2048 of oneDNN
  double multiply_adds = 0;  // fused multiply-adds on registers alone: the processor's own limit

  // Other programs only slow down: the better of two measurements is the truer one.
  void improve(const MatrixPeak& other);
};

// About half a second: the best of several runs each.
MatrixPeak measure_matrix_peak();

}  // namespace skyline
