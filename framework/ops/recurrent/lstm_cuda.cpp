#include <algorithm>
#include <utility>
#include <vector>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/math/sum_kernels.h"
#include "framework/ops/recurrent/lstm_layers.h"
#include "framework/ops/recurrent/lstm_rows_cuda.h"
#include "framework/ops/support/workspace_layout.h"

namespace skyline {
namespace {

// As on the CPU: layer by layer one product for all words; then, step by step, the product with the
// outputs of the step before and one kernel for all nonlinearities. cuDNN's LSTM is not used: only
// a device can tell how large its reserve and its weight layout are, so no plan could be made
// without one; and every step would copy weights into that layout and gradients out of it.
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
            .transposed_b = true,
            .bias = true};
  }
  ProductProblem recurrence(std::int64_t rows) const {
    return {.rows = rows,
            .columns = problem_.gates(),
            .inner = problem_.units,
            .transposed_b = true,
            .add = true};
  }
  std::size_t product_bytes() const;
  void add_biases(const LstmLayer& layer, float* bias) const;
  const float* input(const LstmLayer& layer, const KernelArguments& arguments) const;
  void project(const LstmLayer& layer, const KernelArguments& arguments);
  void run_steps(const LstmLayer& layer, std::byte* workspace);
  void copy_last(const float* packed, float* last) const;

  CudaCompute& compute_;
  LstmProblem problem_;
  WorkspaceLayout workspace_;
  std::size_t product_ = 0, bias_ = 0, zeros_ = 0, dropped_ = 0, unretained_ = 0;
};

LstmKernelCuda::LstmKernelCuda(CudaCompute& compute, const LstmProblem& problem)
    : compute_(compute), problem_(problem) {
  product_ = workspace_.add(product_bytes());
  bias_ = workspace_.add_floats(problem.gates());
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

void LstmKernelCuda::add_biases(const LstmLayer& layer, float* bias) const {
  run_on_floats(*make_sum_cuda(compute_, problem_.gates(), 2), {layer.bias_w, layer.bias_u}, bias);
}

// Returns a layer's input; above the first layer, after dropout.
const float* LstmKernelCuda::input(const LstmLayer& layer, const KernelArguments& arguments) const {
  if (!problem_.drops(layer.number)) return layer.x;
  float* output = at(arguments.workspace, dropped_);
  run_on_floats(*make_dropout_cuda(compute_, problem_.rows() * problem_.units,
                                   problem_.mask_of(layer.number)),
                {layer.x}, output, arguments);
  return output;
}

void LstmKernelCuda::project(const LstmLayer& layer, const KernelArguments& arguments) {
  std::byte* const workspace = arguments.workspace;
  add_biases(layer, at(workspace, bias_));
  make_product(compute_, projection(layer.number))
      ->run({.a = input(layer, arguments),
             .b = layer.w,
             .bias = at(workspace, bias_),
             .c = layer.gates,
             .workspace = workspace + product_});
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

// Copies the rows of each sentence's last word: [R, H] to [B, H]. The sentences that end last come
// first.
void LstmKernelCuda::copy_last(const float* packed, float* last) const {
  const PackedShape& shape = problem_.shape;
  std::vector<RowRange> ranges;
  std::vector<const float*> inputs;
  for (std::int64_t step = shape.steps() - 1; step >= 0; --step) {
    const std::int64_t finished = shape.finished(step);
    if (finished == 0) continue;
    const std::int64_t sentence = shape.size(step) - finished;
    ranges.push_back({sentence, finished});
    inputs.push_back(packed + (shape.offset(step) + sentence) * problem_.units);
  }
  run_on_floats(
      *make_place_rows_cuda(compute_, std::move(ranges), shape.sentences(), problem_.units), inputs,
      last);
}

void LstmKernelCuda::run(const KernelArguments& arguments) {
  compute_.zero(arguments.workspace + zeros_,
                static_cast<std::size_t>(problem_.units) * sizeof(float));
  for (std::int64_t number = 0; number < problem_.layers; ++number) {
    const LstmLayer layer =
        lstm_layer(problem_, number, arguments, at(arguments.workspace, unretained_));
    project(layer, arguments);
    run_steps(layer, arguments.workspace);
    copy_last(layer.outputs, layer.last_h);
    copy_last(layer.cells, layer.last_c);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_lstm_cuda(CudaCompute& compute, const LstmProblem& problem) {
  return std::make_unique<LstmKernelCuda>(compute, problem);
}

}  // namespace skyline
