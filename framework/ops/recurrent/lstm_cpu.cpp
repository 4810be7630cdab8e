#include <algorithm>
#include <optional>

#include "framework/kernel.h"
#include "framework/ops/recurrent/lstm_layers.h"
#include "framework/ops/recurrent/lstm_products_cpu.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Layer by layer: one product of the inputs of all sentences and steps; then, step by step, the
// product with the outputs of the step before and the nonlinearities. The sentences of a step are
// the first ones of the step before, so every operand is a range of rows.
class LstmKernelCpu : public Kernel {
 public:
  LstmKernelCpu(const LstmProblem& problem, std::size_t parts);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  PackedProduct& projection(std::int64_t layer) {
    return layer > 0 && inner_projection_ ? *inner_projection_ : first_projection_;
  }
  const float* input(const LstmLayer& at, const KernelArguments& arguments) const;
  void project(const LstmLayer& at, const KernelArguments& arguments);
  void run_steps(const LstmLayer& at, std::byte* workspace);
  void copy_last(const float* packed, float* last) const;

  LstmProblem problem_;
  PackedProduct first_projection_;
  std::optional<PackedProduct> inner_projection_;  // if it differs from the first one
  PackedProduct recurrence_;
  WorkspaceLayout workspace_;
  std::size_t packed_ = 0, scratch_ = 0, bias_ = 0, zeros_ = 0, dropped_ = 0, unretained_ = 0;
};

PackedProduct::Options projection_of(const LstmProblem& problem, std::int64_t in,
                                     std::size_t parts) {
  return {.in = in,
          .out = problem.gates(),
          .transposed = true,
          .result = PackedProduct::Result::kAddBias,
          .parts = parts};
}

LstmKernelCpu::LstmKernelCpu(const LstmProblem& problem, std::size_t parts)
    : problem_(problem),
      first_projection_(projection_of(problem, problem.in, parts)),
      recurrence_({.in = problem.units,
                   .out = problem.gates(),
                   .transposed = true,
                   .result = PackedProduct::Result::kAdd,
                   .parts = parts}) {
  first_projection_.plan(problem.rows());
  if (problem.layers > 1 && problem.in != problem.units) {
    inner_projection_.emplace(projection_of(problem, problem.units, parts));
    inner_projection_->plan(problem.rows());
  }
  for (const std::int32_t size : problem.shape.batch_sizes()) recurrence_.plan(size);

  const PackedProduct& inner = projection(1);
  packed_ = workspace_.add(std::max(
      {first_projection_.packed_bytes(), inner.packed_bytes(), recurrence_.packed_bytes()}));
  scratch_ = workspace_.add(std::max(
      {first_projection_.scratch_bytes(), inner.scratch_bytes(), recurrence_.scratch_bytes()}));
  bias_ = workspace_.add_floats(problem.gates());
  zeros_ = workspace_.add_floats(problem.units);
  if (problem.mask) dropped_ = workspace_.add_floats(problem.rows() * problem.units);
  if (!problem.retained) unretained_ = workspace_.add_floats(LstmReserve(problem).floats());
}

// Returns a layer's input; above the first layer, after dropout.
const float* LstmKernelCpu::input(const LstmLayer& at, const KernelArguments& arguments) const {
  if (!problem_.drops(at.number)) return at.x;
  auto* output = reinterpret_cast<float*>(arguments.workspace + dropped_);
  run_on_floats(*make_dropout_cpu(problem_.rows() * problem_.units, problem_.mask_of(at.number)),
                {at.x}, output, arguments);
  return output;
}

void LstmKernelCpu::project(const LstmLayer& at, const KernelArguments& arguments) {
  std::byte* const workspace = arguments.workspace;
  auto* bias = reinterpret_cast<float*>(workspace + bias_);
  for (std::int64_t k = 0; k < problem_.gates(); ++k) bias[k] = at.bias_w[k] + at.bias_u[k];
  const PackedProduct::Workspace product{workspace + packed_, workspace + scratch_};
  projection(at.number).pack(at.w, product);
  projection(at.number).run(problem_.rows(),
                            {.x = input(at, arguments), .bias = bias, .y = at.gates}, product);
}

void LstmKernelCpu::run_steps(const LstmLayer& at, std::byte* workspace) {
  const PackedProduct::Workspace product{workspace + packed_, workspace + scratch_};
  recurrence_.pack(at.u, product);
  auto* zeros = reinterpret_cast<float*>(workspace + zeros_);
  std::fill_n(zeros, problem_.units, 0.0f);
  for (std::int64_t step = 0; step < problem_.shape.steps(); ++step) {
    const LstmRows rows = lstm_step(problem_, at, step, zeros);
    if (const float* h = outputs_before(problem_, at, step)) {
      recurrence_.run(rows.rows, {.x = h, .y = rows.gates}, product);
    }
    run_lstm_rows(rows);
  }
}

// Copies the rows of each sentence's last word: [R, H] to [B, H].
void LstmKernelCpu::copy_last(const float* packed, float* last) const {
  const PackedShape& shape = problem_.shape;
  const std::int64_t units = problem_.units;
  for (std::int64_t step = 0; step < shape.steps(); ++step) {
    const std::int64_t finished = shape.finished(step);
    const std::int64_t sentence = shape.size(step) - finished;
    std::copy_n(packed + (shape.offset(step) + sentence) * units, finished * units,
                last + sentence * units);
  }
}

void LstmKernelCpu::run(const KernelArguments& arguments) {
  auto* unretained = reinterpret_cast<float*>(arguments.workspace + unretained_);
  for (std::int64_t layer = 0; layer < problem_.layers; ++layer) {
    const LstmLayer at = lstm_layer(problem_, layer, arguments, unretained);
    project(at, arguments);
    run_steps(at, arguments.workspace);
    copy_last(at.outputs, at.last_h);
    copy_last(at.cells, at.last_c);
  }
}

// Layer by layer from the last: step by step back in time, the gradients of the gates' sums and the
// product that passes them to the step before; then, for all steps at once, the products that give
// the gradients of w, u and the layer's input, which is the gradient of the outputs of the layer
// below.
class LstmGradKernelCpu : public Kernel {
 public:
  LstmGradKernelCpu(const LstmProblem& problem, const LstmGradients& gradients, std::size_t parts);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  using Workspace = PackedProduct::Workspace;

  static float* at(const KernelArguments& arguments, std::size_t offset) {
    return reinterpret_cast<float*>(arguments.workspace + offset);
  }
  bool has_inner() const { return problem_.layers > 1; }
  PackedProduct& to_input(std::int64_t layer) {
    return layer > 0 && inner_to_input_ ? *inner_to_input_ : first_to_input_;
  }
  WeightProduct& w_product(std::int64_t layer) {
    return layer == 0 ? first_w_product_ : inner_w_product_;
  }

  void lay_out_workspace();
  void run_steps(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_weight_gradients(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_grad_w(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_grad_u(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_grad_x(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_bias_gradients(const LstmGradLayer& layer, const float* grad_sums) const;
  void copy_input(const LstmGradLayer& layer, const KernelArguments& arguments) const;
  void copy_outputs_before(const LstmGradLayer& layer, float* padded) const;
  void drop(std::int64_t layer, const float* input, float* output,
            const KernelArguments& arguments) const;
  void clear_padding(float* padded, std::int64_t width) const;

  LstmProblem problem_;
  LstmGradients gradients_;
  std::int64_t padded_rows_;
  PackedProduct to_step_before_;
  PackedProduct first_to_input_;
  std::optional<PackedProduct> inner_to_input_;  // if it differs from the first one
  WeightProduct first_w_product_, inner_w_product_, u_product_;
  // The gradients of w and u are computed at the same time, so the latter needs memory of its own.
  bool apart_;
  WorkspaceLayout workspace_;
  std::size_t packed_ = 0, scratch_ = 0, zeros_ = 0, grad_sums_ = 0, rows_ = 0;
  std::size_t u_scratch_ = 0, u_rows_ = 0;
  std::size_t grad_h_ = 0, grad_c_ = 0;
};

LstmGradKernelCpu::LstmGradKernelCpu(const LstmProblem& problem, const LstmGradients& gradients,
                                     std::size_t parts)
    : problem_(problem),
      gradients_(gradients),
      padded_rows_(WeightProduct::padded(problem.rows())),
      to_step_before_({.in = problem.gates(), .out = problem.units, .parts = parts}),
      first_to_input_({.in = problem.gates(), .out = problem.in, .parts = parts}),
      first_w_product_(padded_rows_, problem.gates(), problem.in),
      inner_w_product_(padded_rows_, problem.gates(), problem.units),
      u_product_(padded_rows_, problem.gates(), problem.units),
      apart_(parts > 1) {
  for (const std::int32_t size : problem.shape.batch_sizes()) to_step_before_.plan(size);
  first_to_input_.plan(problem.rows());
  if (has_inner() && problem.in != problem.units) {
    inner_to_input_.emplace(
        PackedProduct::Options{.in = problem.gates(), .out = problem.units, .parts = parts});
    inner_to_input_->plan(problem.rows());
  }
  lay_out_workspace();
}

void LstmGradKernelCpu::lay_out_workspace() {
  const PackedProduct& inner = to_input(1);
  packed_ = workspace_.add(std::max(
      {to_step_before_.packed_bytes(), first_to_input_.packed_bytes(), inner.packed_bytes()}));
  scratch_ = workspace_.add(std::max(
      {to_step_before_.scratch_bytes(), first_to_input_.scratch_bytes(), inner.scratch_bytes(),
       first_w_product_.scratch_bytes(), u_product_.scratch_bytes()}));
  zeros_ = workspace_.add_floats(problem_.units);
  grad_sums_ = workspace_.add_floats(padded_rows_ * problem_.gates());
  u_rows_ = rows_ = workspace_.add_floats(padded_rows_ * std::max(problem_.in, problem_.units));
  u_scratch_ = scratch_;
  if (apart_ && gradients_.weights) {
    u_scratch_ = workspace_.add(u_product_.scratch_bytes());
    u_rows_ = workspace_.add_floats(padded_rows_ * problem_.units);
  }
  if (gradients_.state) return;
  grad_h_ = workspace_.add_floats(problem_.sentences() * problem_.units);
  grad_c_ = workspace_.add_floats(problem_.sentences() * problem_.units);
}

void LstmGradKernelCpu::run_steps(const LstmGradLayer& layer, const KernelArguments& arguments) {
  const Workspace product{arguments.workspace + packed_, arguments.workspace + scratch_};
  to_step_before_.pack(layer.u, product);
  const std::int64_t state = problem_.sentences() * problem_.units;
  std::copy_n(layer.grad_last_h, state, layer.grad_h);
  std::copy_n(layer.grad_last_c, state, layer.grad_c);
  float* zeros = at(arguments, zeros_);
  std::fill_n(zeros, problem_.units, 0.0f);
  float* grad_sums = at(arguments, grad_sums_);
  for (std::int64_t step = problem_.shape.steps() - 1; step >= 0; --step) {
    const LstmGradRows rows = lstm_grad_step(problem_, layer, step, zeros, grad_sums);
    run_lstm_grad_rows(rows);
    if (step == 0 && !gradients_.state) break;
    to_step_before_.run(rows.rows, {.x = rows.grad_sums, .y = layer.grad_h}, product);
  }
  clear_padding(grad_sums, problem_.gates());
}

// Clears the rows behind the last one, which the weight products also read.
void LstmGradKernelCpu::clear_padding(float* padded, std::int64_t width) const {
  std::fill(padded + problem_.rows() * width, padded + padded_rows_ * width, 0.0f);
}

// Applies dropout to a layer's input again, from what was retained.
void LstmGradKernelCpu::drop(std::int64_t layer, const float* input, float* output,
                             const KernelArguments& arguments) const {
  run_on_floats(*make_dropout_cpu(problem_.rows() * problem_.units, problem_.mask_of(layer)),
                {input}, output, arguments);
}

void LstmGradKernelCpu::copy_input(const LstmGradLayer& layer,
                                   const KernelArguments& arguments) const {
  const std::int64_t width = problem_.input_width(layer.number), rows = problem_.rows();
  float* padded = at(arguments, rows_);
  if (problem_.drops(layer.number)) {
    drop(layer.number, layer.x, padded, arguments);
  } else {
    for_each_index(rows, rows * width >= kSerialArithmetic, [&](std::int64_t row) {
      std::copy_n(layer.x + row * width, width, padded + row * width);
    });
  }
  clear_padding(padded, width);
}

// Copies the output that each row's recurrent product read: that of the step before, or the initial
// state.
void LstmGradKernelCpu::copy_outputs_before(const LstmGradLayer& layer, float* padded) const {
  const PackedShape& shape = problem_.shape;
  const std::int64_t units = problem_.units;
  const bool parallel = problem_.rows() * units >= kSerialArithmetic;
  for_each_index(shape.steps(), parallel, [&](std::int64_t step) {
    const std::int64_t count = shape.size(step) * units;
    float* to = padded + shape.offset(step) * units;
    if (const float* before = outputs_before(problem_, layer, step)) {
      std::copy_n(before, count, to);
    } else {
      std::fill_n(to, count, 0.0f);
    }
  });
  clear_padding(padded, units);
}

// Both biases have one gradient: the sum of the rows, top down on any number of threads.
void LstmGradKernelCpu::write_bias_gradients(const LstmGradLayer& layer,
                                             const float* grad_sums) const {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t gates = problem_.gates(), rows = problem_.rows();
  const std::int64_t pieces = (gates + kColumns - 1) / kColumns;
  for_each_index(pieces, rows * gates >= kSerialArithmetic, [&](std::int64_t piece) {
    const std::int64_t begin = piece * kColumns, count = std::min(kColumns, gates - begin);
    float total[kColumns] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* values = grad_sums + row * gates + begin;
      for (std::int64_t k = 0; k < count; ++k) total[k] += values[k];
    }
    std::copy_n(total, count, layer.grad_bias_w + begin);
    std::copy_n(total, count, layer.grad_bias_u + begin);
  });
}

void LstmGradKernelCpu::write_weight_gradients(const LstmGradLayer& layer,
                                               const KernelArguments& arguments) {
  write_bias_gradients(layer, at(arguments, grad_sums_));
  if (!apart_ || !WideOp::running()) {
    write_grad_w(layer, arguments);
    write_grad_u(layer, arguments);
    return;
  }
  WideOp::share(2, 1, [&](std::int64_t begin, std::int64_t end) {
    if (begin == 0) write_grad_w(layer, arguments);
    if (end == 2) write_grad_u(layer, arguments);
  });
}

void LstmGradKernelCpu::write_grad_w(const LstmGradLayer& layer, const KernelArguments& arguments) {
  copy_input(layer, arguments);
  w_product(layer.number)
      .run(at(arguments, grad_sums_), at(arguments, rows_), layer.grad_w,
           arguments.workspace + scratch_);
}

void LstmGradKernelCpu::write_grad_u(const LstmGradLayer& layer, const KernelArguments& arguments) {
  float* const rows = at(arguments, u_rows_);
  copy_outputs_before(layer, rows);
  u_product_.run(at(arguments, grad_sums_), rows, layer.grad_u, arguments.workspace + u_scratch_);
}

void LstmGradKernelCpu::write_grad_x(const LstmGradLayer& layer, const KernelArguments& arguments) {
  const Workspace product{arguments.workspace + packed_, arguments.workspace + scratch_};
  PackedProduct& to_input = this->to_input(layer.number);
  to_input.pack(layer.w, product);
  to_input.run(problem_.rows(), {.x = at(arguments, grad_sums_), .y = layer.grad_x}, product);
  if (problem_.drops(layer.number)) drop(layer.number, layer.grad_x, layer.grad_x, arguments);
}

void LstmGradKernelCpu::run(const KernelArguments& arguments) {
  const LstmGradWorkspace workspace{at(arguments, rows_), at(arguments, grad_h_),
                                    at(arguments, grad_c_)};
  for (std::int64_t number = problem_.layers - 1; number >= 0; --number) {
    const LstmGradLayer layer = lstm_grad_layer(problem_, gradients_, number, arguments, workspace);
    run_steps(layer, arguments);
    if (gradients_.weights) write_weight_gradients(layer, arguments);
    if (layer.grad_x != nullptr) write_grad_x(layer, arguments);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_lstm_cpu(const CpuOptions& options, const LstmProblem& problem) {
  return std::make_unique<LstmKernelCpu>(problem, options.lanes);
}

std::unique_ptr<Kernel> make_lstm_grad_cpu(const CpuOptions& options,
                                           const LstmGradProblem& problem) {
  return std::make_unique<LstmGradKernelCpu>(problem.forward, problem.gradients, options.lanes);
}

}  // namespace skyline
