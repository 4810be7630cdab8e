#include "framework/ops/recurrent/lstm_layers.h"

#include <algorithm>

#include "framework/ops/recurrent/lstm_kernels.h"
#include "memory/alignment.h"

namespace skyline {
namespace {

// Every part starts where the widest vector loads are aligned.
constexpr std::int64_t kAlignmentFloats = 16;

template <typename Layer>
LstmCellsBefore cells_before(const LstmProblem& problem, const Layer& layer, std::int64_t step,
                             const float* zeros) {
  if (step > 0) {
    return {layer.cells + problem.shape.offset(step - 1) * problem.units, problem.units};
  }
  if (layer.first_c != nullptr) return {layer.first_c, problem.units};
  return {zeros, 0};
}

void add_weight_gradients(LstmGradLayer& layer, const LstmGradients& gradients,
                          const KernelArguments& arguments) {
  const std::size_t first = (gradients.x ? 1u : 0u) + (gradients.state ? 2u : 0u) +
                            4u * static_cast<std::size_t>(layer.number);
  layer.grad_w = arguments.output<float>(first);
  layer.grad_u = arguments.output<float>(first + 1);
  layer.grad_bias_w = arguments.output<float>(first + 2);
  layer.grad_bias_u = arguments.output<float>(first + 3);
}

}  // namespace

LstmReserve::LstmReserve(const LstmProblem& problem)
    : gates_(align_up(problem.rows() * problem.gates(), kAlignmentFloats)),
      width_(align_up(problem.rows() * problem.units, kAlignmentFloats)),
      layer_stride_(problem.retained ? gates_ + width_ : 0),
      outputs_((problem.retained ? problem.layers : 1) * (gates_ + width_)),
      output_slots_(std::max<std::int64_t>(1, problem.retained
                                                  ? problem.layers - 1
                                                  : std::min<std::int64_t>(2, problem.layers - 1))),
      floats_(outputs_ + (problem.layers > 1 ? output_slots_ * width_ : 0)) {}

// Inputs: x, (h, c,) then w, u, bias_w, bias_u of each layer.
LstmLayer lstm_layer(const LstmProblem& problem, std::int64_t number,
                     const KernelArguments& arguments, float* unretained) {
  const LstmReserve places(problem);
  const std::size_t weights = (problem.state ? 3u : 1u) + 4u * static_cast<std::size_t>(number);
  const std::int64_t state = number * problem.sentences() * problem.units;
  float* reserve = problem.retained ? arguments.output<float>(3) : unretained;
  const bool top = number + 1 == problem.layers;
  return {.number = number,
          .x = number == 0 ? arguments.input<float>(0) : reserve + places.outputs(number - 1),
          .w = arguments.input<float>(weights),
          .u = arguments.input<float>(weights + 1),
          .bias_w = arguments.input<float>(weights + 2),
          .bias_u = arguments.input<float>(weights + 3),
          .first_h = problem.state ? arguments.input<float>(1) + state : nullptr,
          .first_c = problem.state ? arguments.input<float>(2) + state : nullptr,
          .gates = reserve + places.gates(number),
          .cells = reserve + places.cells(number),
          .outputs = top ? arguments.output<float>(0) : reserve + places.outputs(number),
          .last_h = arguments.output<float>(2) + state,
          .last_c = arguments.output<float>(1) + state};
}

LstmRows lstm_step(const LstmProblem& problem, const LstmLayer& layer, std::int64_t step,
                   const float* zeros) {
  const std::int64_t first = problem.shape.offset(step) * problem.units;
  float* gates = layer.gates + 4 * first;
  return {.rows = problem.shape.size(step),
          .units = problem.units,
          .sums = gates,
          .bias_w = layer.bias_w,
          .bias_u = layer.bias_u,
          .before = cells_before(problem, layer, step, zeros),
          .gates = gates,
          .c = layer.cells + first,
          .h = layer.outputs + first,
          .running = problem.shape.size(step) - problem.shape.finished(step),
          .last_h = layer.last_h,
          .last_c = layer.last_c};
}

// Inputs: x, (h, c,) y, reserve, grad_y, grad_h, grad_c, then w, u of each layer.
LstmGradLayer lstm_grad_layer(const LstmProblem& problem, const LstmGradients& gradients,
                              std::int64_t number, const KernelArguments& arguments,
                              const LstmGradWorkspace& workspace) {
  const LstmReserve places(problem);
  const std::size_t y = problem.state ? 3 : 1;
  const std::size_t weights = y + 5 + 2 * static_cast<std::size_t>(number);
  const std::int64_t state = number * problem.sentences() * problem.units;
  const auto* reserve = arguments.input<float>(y + 1);
  const bool top = number + 1 == problem.layers;
  const std::size_t grad_state = gradients.x ? 1 : 0;
  LstmGradLayer layer{
      .number = number,
      .x = number == 0 ? arguments.input<float>(0) : reserve + places.outputs(number - 1),
      .w = arguments.input<float>(weights),
      .u = arguments.input<float>(weights + 1),
      .first_h = problem.state ? arguments.input<float>(1) + state : nullptr,
      .first_c = problem.state ? arguments.input<float>(2) + state : nullptr,
      .gates = reserve + places.gates(number),
      .cells = reserve + places.cells(number),
      .outputs = top ? arguments.input<float>(y) : reserve + places.outputs(number),
      .grad_outputs = top ? arguments.input<float>(y + 2) : workspace.rows,
      .grad_last_h = arguments.input<float>(y + 3) + state,
      .grad_last_c = arguments.input<float>(y + 4) + state,
      .grad_h = gradients.state ? arguments.output<float>(grad_state) + state : workspace.grad_h,
      .grad_c =
          gradients.state ? arguments.output<float>(grad_state + 1) + state : workspace.grad_c};
  if (number > 0) layer.grad_x = workspace.rows;
  if (number == 0 && gradients.x) layer.grad_x = arguments.output<float>(0);
  if (gradients.weights) add_weight_gradients(layer, gradients, arguments);
  return layer;
}

LstmGradRows lstm_grad_step(const LstmProblem& problem, const LstmGradLayer& layer,
                            std::int64_t step, const float* zeros, float* grad_sums) {
  const std::int64_t first = problem.shape.offset(step) * problem.units;
  return {.rows = problem.shape.size(step),
          .units = problem.units,
          .gates = layer.gates + 4 * first,
          .before = cells_before(problem, layer, step, zeros),
          .c = layer.cells + first,
          .grad_h = layer.grad_outputs + first,
          .after = {.h = layer.grad_h,
                    .c = layer.grad_c,
                    .running = problem.shape.size(step) - problem.shape.finished(step),
                    .last_h = layer.grad_last_h,
                    .last_c = layer.grad_last_c},
          .grad_sums = grad_sums + 4 * first,
          .grad_c_before = layer.grad_c};
}

void run_on_floats(Kernel& kernel, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs, const KernelArguments& of,
                   std::byte* workspace) {
  std::vector<const std::byte*> from;
  for (const float* input : inputs) from.push_back(reinterpret_cast<const std::byte*>(input));
  std::vector<std::byte*> to;
  for (float* output : outputs) to.push_back(reinterpret_cast<std::byte*>(output));
  kernel.run({from, to, workspace, of.run_value, of.run_value_at});
}

}  // namespace skyline
