#pragma once

#include <cstdint>

namespace skyline {

// The cells before a step: row k is at `first + k * stride`; stride 0 repeats one row (zeros).
struct LstmCellsBefore {
  const float* first = nullptr;
  std::int64_t stride = 0;
};

// One word of `rows` sentences of `units` units: i, f, o = sigmoid and g = tanh of `sums`
// [rows, 4 units], c = f c_before + i g, h = o tanh(c). `gates` may be `sums`, c may be the cells
// before.
struct LstmRows {
  std::int64_t rows;
  std::int64_t units;
  const float* sums;
  LstmCellsBefore before;
  float* gates;
  float* c;
  float* h;
};
void run_lstm_rows(const LstmRows& rows);

// The gradients of `sums` and of the cells before. The gradient of h is grad_h plus more_grad_h,
// unless that is null; grad_sums may be `gates`, grad_c_before may be grad_c.
struct LstmGradRows {
  std::int64_t rows;
  std::int64_t units;
  const float* gates;
  LstmCellsBefore before;
  const float* c;
  const float* grad_h;
  const float* more_grad_h;
  const float* grad_c;
  float* grad_sums;
  float* grad_c_before;
};
void run_lstm_grad_rows(const LstmGradRows& rows);

}  // namespace skyline
