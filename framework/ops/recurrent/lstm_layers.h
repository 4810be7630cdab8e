#pragma once

#include <vector>

#include "framework/ops/recurrent/lstm_kernels.h"

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

// `unretained` is the address of the reserve if it is no output.
LstmLayer lstm_layer(const LstmProblem& problem, std::int64_t number,
                     const KernelArguments& arguments, float* unretained);

// Returns what one step of a layer computes. Without an initial state, the cells before the first
// step are `zeros` [H].
LstmRows lstm_step(const LstmProblem& problem, const LstmLayer& layer, std::int64_t step,
                   const float* zeros);

// One layer's addresses among an lstm_grad kernel's arguments. Gradients that are not needed are
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
  float* grad_h;  // of the current step; in the end of the initial state
  float* grad_c;
  float* grad_x;
  float* grad_w;
  float* grad_u;
  float* grad_bias_w;
  float* grad_bias_u;
};

// The parts of these kernels' workspace.
struct LstmGradWorkspace {
  float* rows;    // [R, H], the gradient of a layer's outputs, from the layer above
  float* grad_h;  // [B, H] each, if the initial state's gradients are not needed
  float* grad_c;
};

LstmGradLayer lstm_grad_layer(const LstmProblem& problem, const LstmGradients& gradients,
                              std::int64_t number, const KernelArguments& arguments,
                              const LstmGradWorkspace& workspace);

// Like lstm_step(), from the last step to the first. grad_sums [R, 4H] receives the gradients of
// all steps, layer.grad_c those of the cells before this step.
LstmGradRows lstm_grad_step(const LstmProblem& problem, const LstmGradLayer& layer,
                            std::int64_t step, const float* zeros, float* grad_sums);

// Runs another op's kernel on floats, with the run value of `of` and a workspace of its own.
void run_on_floats(Kernel& kernel, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs, const KernelArguments& of = {},
                   std::byte* workspace = nullptr);

// Returns the operand of a step's recurrent product: the outputs of the step before or of the
// initial state; null for zeros.
template <typename Layer>
const float* outputs_before(const LstmProblem& problem, const Layer& layer, std::int64_t step) {
  if (step == 0) return layer.first_h;
  return layer.outputs + problem.shape.offset(step - 1) * problem.units;
}

}  // namespace skyline
