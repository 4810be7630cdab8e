#include <algorithm>
#include <utility>
#include <vector>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/kernel.h"
#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/recurrent/lstm_kernels.h"
#include "framework/ops/recurrent/lstm_layers.h"
#include "framework/ops/support/column_sums_cuda.h"

namespace skyline {
namespace {

// As on the CPU: layer by layer one product for all words; then, step by step, the product with the
// outputs of the step before and one kernel for all nonlinearities. framework/README.md says why
// cuDNN's LSTM is not used.
class LstmKernelCuda final : public Kernel {
 public:
  LstmKernelCuda(CudaCompute& compute, const LstmProblem& problem);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  static float* at(std::byte* workspace, std::size_t offset) {
    return reinterpret_cast<float*>(workspace + offset);
  }
  ProductProblem projection(std::int64_t layer) const {
    return {.rows = problem_.rows(),
            .columns = problem_.gates(),
            .inner = problem_.input_width(layer),
            .transposed_b = true};
  }
  ProductProblem recurrence(std::int64_t rows) const {
    return {.rows = rows,
            .columns = problem_.gates(),
            .inner = problem_.units,
            .transposed_b = true,
            .add = true};
  }
  std::size_t product_bytes() const;
  const float* input(const LstmLayer& layer, const KernelArguments& arguments) const;
  void project(const LstmLayer& layer, const KernelArguments& arguments);
  void run_steps(const LstmLayer& layer, std::byte* workspace);

  CudaCompute& compute_;
  LstmProblem problem_;
  WorkspaceLayout workspace_;
  std::size_t product_ = 0, zeros_ = 0, dropped_ = 0, unretained_ = 0;
};

LstmKernelCuda::LstmKernelCuda(CudaCompute& compute, const LstmProblem& problem)
    : compute_(compute), problem_(problem) {
  product_ = workspace_.add(product_bytes());
  zeros_ = workspace_.add_floats(problem.units);
  if (problem.mask) dropped_ = workspace_.add_floats(problem.rows() * problem.units);
  if (!problem.retained) unretained_ = workspace_.add_floats(LstmReserve(problem).floats());
}

std::size_t LstmKernelCuda::product_bytes() const {
  std::size_t bytes = product_workspace_bytes(projection(0));
  for (const std::int32_t size : problem_.shape.batch_sizes()) {
    bytes = std::max(bytes, product_workspace_bytes(recurrence(size)));
  }
  return bytes;
}

// Returns a layer's input; above the first layer, after dropout.
const float* LstmKernelCuda::input(const LstmLayer& layer, const KernelArguments& arguments) const {
  if (!problem_.drops(layer.number)) return layer.x;
  float* output = at(arguments.workspace, dropped_);
  run_on_floats(*make_dropout_cuda(compute_, problem_.rows() * problem_.units,
                                   problem_.mask_of(layer.number)),
                {layer.x}, {output}, arguments);
  return output;
}

void LstmKernelCuda::project(const LstmLayer& layer, const KernelArguments& arguments) {
  make_product(compute_, projection(layer.number))
      ->run({.a = input(layer, arguments),
             .b = layer.w,
             .c = layer.gates,
             .workspace = arguments.workspace + product_});
}

void LstmKernelCuda::run_steps(const LstmLayer& layer, std::byte* workspace) {
  ProductLoop products(compute_);
  for (std::int64_t step = 0; step < problem_.shape.steps(); ++step) {
    const LstmRows rows = lstm_step(problem_, layer, step, at(workspace, zeros_));
    if (const float* h = outputs_before(problem_, layer, step)) {
      products.of(recurrence(rows.rows))
          .run({.a = h, .b = layer.u, .c = rows.gates, .workspace = workspace + product_});
    }
    run_lstm_rows_cuda(compute_, rows);
  }
}

void LstmKernelCuda::run(const KernelArguments& arguments) {
  compute_.zero(arguments.workspace + zeros_,
                static_cast<std::size_t>(problem_.units) * sizeof(float));
  for (std::int64_t number = 0; number < problem_.layers; ++number) {
    const LstmLayer layer =
        lstm_layer(problem_, number, arguments, at(arguments.workspace, unretained_));
    project(layer, arguments);
    run_steps(layer, arguments.workspace);
  }
}

// As on the CPU: layer by layer from the last, step by step back in time, the gradients of the
// gates' sums and the product that passes them to the step before; then, for all steps at once, the
// products that give the gradients of w, u and the layer's input.
class LstmGradKernelCuda final : public Kernel {
 public:
  LstmGradKernelCuda(CudaCompute& compute, const LstmProblem& problem,
                     const LstmGradients& gradients);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  static float* at(const KernelArguments& arguments, std::size_t offset) {
    return reinterpret_cast<float*>(arguments.workspace + offset);
  }
  ProductProblem to_step_before(std::int64_t rows) const {
    return {.rows = rows, .columns = problem_.units, .inner = problem_.gates()};
  }
  ProductProblem to_input(std::int64_t layer) const {
    return {
        .rows = problem_.rows(), .columns = problem_.input_width(layer), .inner = problem_.gates()};
  }
  // The gradient of a weight with `features` columns.
  ProductProblem to_weight(std::int64_t features) const {
    return {.rows = problem_.gates(),
            .columns = features,
            .inner = problem_.rows(),
            .transposed_a = true};
  }
  std::size_t scratch_bytes() const;
  void multiply(const ProductProblem& problem, const float* a, const float* b, float* c,
                const KernelArguments& arguments) const {
    make_product(compute_, problem)
        ->run({.a = a, .b = b, .c = c, .workspace = arguments.workspace + scratch_});
  }
  void run_steps(const LstmGradLayer& layer, const KernelArguments& arguments) const;
  void drop(std::int64_t layer, const float* input, float* output,
            const KernelArguments& arguments) const;
  const float* input(const LstmGradLayer& layer, const KernelArguments& arguments) const;
  void copy_outputs_before(const LstmGradLayer& layer, float* rows) const;
  void write_weight_gradients(const LstmGradLayer& layer, const KernelArguments& arguments) const;
  void write_grad_x(const LstmGradLayer& layer, const KernelArguments& arguments) const;

  CudaCompute& compute_;
  LstmProblem problem_;
  LstmGradients gradients_;
  ColumnSums bias_sums_;
  WorkspaceLayout workspace_;
  std::size_t scratch_ = 0, zeros_ = 0, grad_sums_ = 0, rows_ = 0, grad_h_ = 0, grad_c_ = 0;
};

LstmGradKernelCuda::LstmGradKernelCuda(CudaCompute& compute, const LstmProblem& problem,
                                       const LstmGradients& gradients)
    : compute_(compute),
      problem_(problem),
      gradients_(gradients),
      bias_sums_(problem.rows(), problem.gates()) {
  scratch_ = workspace_.add(scratch_bytes());
  zeros_ = workspace_.add_floats(problem.units);
  grad_sums_ = workspace_.add_floats(problem.rows() * problem.gates());
  rows_ = workspace_.add_floats(problem.rows() * problem.units);
  if (gradients.state) return;
  grad_h_ = workspace_.add_floats(problem.sentences() * problem.units);
  grad_c_ = workspace_.add_floats(problem.sentences() * problem.units);
}

// All products and the biases' sums use it in turn.
std::size_t LstmGradKernelCuda::scratch_bytes() const {
  std::size_t bytes = bias_sums_.workspace_bytes();
  for (const auto& problem : {to_input(0), to_weight(problem_.in), to_weight(problem_.units)}) {
    bytes = std::max(bytes, product_workspace_bytes(problem));
  }
  if (problem_.layers > 1) bytes = std::max(bytes, product_workspace_bytes(to_input(1)));
  for (const std::int32_t size : problem_.shape.batch_sizes()) {
    bytes = std::max(bytes, product_workspace_bytes(to_step_before(size)));
  }
  return bytes;
}

void LstmGradKernelCuda::run_steps(const LstmGradLayer& layer,
                                   const KernelArguments& arguments) const {
  float* grad_sums = at(arguments, grad_sums_);
  ProductLoop products(compute_);
  for (std::int64_t step = problem_.shape.steps() - 1; step >= 0; --step) {
    const LstmGradRows rows =
        lstm_grad_step(problem_, layer, step, at(arguments, zeros_), grad_sums);
    run_lstm_grad_rows_cuda(compute_, rows);
    if (step == 0 && !gradients_.state) break;
    products.of(to_step_before(rows.rows))
        .run({.a = rows.grad_sums,
              .b = layer.u,
              .c = layer.grad_h,
              .workspace = arguments.workspace + scratch_});
  }
}

void LstmGradKernelCuda::drop(std::int64_t layer, const float* input, float* output,
                              const KernelArguments& arguments) const {
  run_on_floats(
      *make_dropout_cuda(compute_, problem_.rows() * problem_.units, problem_.mask_of(layer)),
      {input}, {output}, arguments);
}

// Returns a layer's input, with dropout applied again to what was retained.
const float* LstmGradKernelCuda::input(const LstmGradLayer& layer,
                                       const KernelArguments& arguments) const {
  if (!problem_.drops(layer.number)) return layer.x;
  drop(layer.number, layer.x, at(arguments, rows_), arguments);
  return at(arguments, rows_);
}

// Copies the output that each row's recurrent product read: that of the step before, the initial
// state or zeros.
void LstmGradKernelCuda::copy_outputs_before(const LstmGradLayer& layer, float* rows) const {
  const PackedShape& shape = problem_.shape;
  std::vector<RowRange> ranges;
  std::vector<const float*> inputs;
  for (std::int64_t step = layer.first_h == nullptr ? 1 : 0; step < shape.steps(); ++step) {
    ranges.push_back({shape.offset(step), shape.size(step)});
    inputs.push_back(outputs_before(problem_, layer, step));
  }
  run_on_floats(*make_place_rows_cuda(compute_, std::move(ranges), problem_.rows(), problem_.units),
                inputs, {rows});
}

void LstmGradKernelCuda::write_weight_gradients(const LstmGradLayer& layer,
                                                const KernelArguments& arguments) const {
  const float* grad_sums = at(arguments, grad_sums_);
  float* rows = at(arguments, rows_);
  bias_sums_.run(compute_, grad_sums, layer.grad_bias_w, arguments.workspace + scratch_,
                 layer.grad_bias_u);
  multiply(to_weight(problem_.input_width(layer.number)), grad_sums, input(layer, arguments),
           layer.grad_w, arguments);
  copy_outputs_before(layer, rows);
  multiply(to_weight(problem_.units), grad_sums, rows, layer.grad_u, arguments);
}

void LstmGradKernelCuda::write_grad_x(const LstmGradLayer& layer,
                                      const KernelArguments& arguments) const {
  multiply(to_input(layer.number), at(arguments, grad_sums_), layer.w, layer.grad_x, arguments);
  if (problem_.drops(layer.number)) drop(layer.number, layer.grad_x, layer.grad_x, arguments);
}

void LstmGradKernelCuda::run(const KernelArguments& arguments) {
  compute_.zero(arguments.workspace + zeros_,
                static_cast<std::size_t>(problem_.units) * sizeof(float));
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

std::unique_ptr<Kernel> make_lstm_cuda(CudaCompute& compute, const LstmProblem& problem) {
  return std::make_unique<LstmKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_lstm_grad_cuda(CudaCompute& compute, const LstmGradProblem& problem) {
  return std::make_unique<LstmGradKernelCuda>(compute, problem.forward, problem.gradients);
}

}  // namespace skyline
