#pragma once

#include "framework/host_device.h"
#include "framework/ops/sigmoid_kernels.h"
#include "framework/ops/tanh_kernels.h"

namespace skyline {

// The four gates of one unit: sums before the nonlinearities, values after them, or gradients.
struct LstmGates {
  float i, f, g, o;
};

struct LstmUnit {
  LstmGates gates;  // activated
  float c, h;
};

SKYLINE_HOST_DEVICE inline LstmUnit lstm_unit(const LstmGates& sums, float c_before) {
  const SigmoidFunction sigmoid;
  const TanhFunction tanh;
  const LstmGates gates{sigmoid(sums.i), sigmoid(sums.f), tanh(sums.g), sigmoid(sums.o)};
  const float c = gates.f * c_before + gates.i * gates.g;
  return {gates, c, gates.o * tanh(c)};
}

struct LstmUnitGrad {
  LstmGates sums;
  float c_before;
};

// From the gradients of h and c, what was activated, and both cells.
SKYLINE_HOST_DEVICE inline LstmUnitGrad lstm_unit_grad(const LstmGates& gates, float c_before,
                                                       float c, float grad_h, float grad_c) {
  const float squashed = TanhFunction()(c);
  const float whole = grad_c + grad_h * gates.o * (1.0f - squashed * squashed);
  return {.sums = {.i = whole * gates.g * gates.i * (1.0f - gates.i),
                   .f = whole * c_before * gates.f * (1.0f - gates.f),
                   .g = whole * gates.i * (1.0f - gates.g * gates.g),
                   .o = grad_h * squashed * gates.o * (1.0f - gates.o)},
          .c_before = whole * gates.f};
}

}  // namespace skyline
