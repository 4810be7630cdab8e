#pragma once

#include "framework/ops/lstm_kernels.h"

namespace skyline {

// One layer's addresses among an lstm kernel's arguments.
struct LstmLayer {
  std::int64_t number;
  const float* x;
  const float* w;
  const float* u;
  const float* bias_w;
  const float* bias_u;
  const float* first_h;  // the initial state, or null
  const float* first_c;
  float* gates;
  float* cells;
  float* outputs;
  float* last_h;  // of each sentence
  float* last_c;
};

// `unretained` is where the reserve lies when it is no output.
LstmLayer lstm_layer(const LstmProblem& problem, std::int64_t number,
                     const KernelArguments& arguments, float* unretained);

// One layer's addresses among an lstm_grad kernel's arguments. Gradients that nobody asked for are
// null.
struct LstmGradLayer {
  std::int64_t number;
  const float* x;
  const float* w;
  const float* u;
  const float* first_h;  // the initial state, or null
  const float* first_c;
  const float* gates;
  const float* cells;
  const float* outputs;
  const float* grad_outputs;
  const float* grad_last_h;  // of each sentence's last word, from outside
  const float* grad_last_c;
  float* grad_h;  // of the step at hand; at the end of the initial state
  float* grad_c;
  float* grad_x;
  float* grad_w;
  float* grad_u;
  float* grad_bias_w;
  float* grad_bias_u;
};

// What those kernels keep in their workspace.
struct LstmGradWorkspace {
  float* rows;    // [R, H], the gradient of a layer's outputs that the layer above found
  float* grad_h;  // [B, H] each, when nobody asked for the initial state's gradients
  float* grad_c;
};

LstmGradLayer lstm_grad_layer(const LstmProblem& problem, const LstmGradients& gradients,
                              std::int64_t number, const KernelArguments& arguments,
                              const LstmGradWorkspace& workspace);

}  // namespace skyline
