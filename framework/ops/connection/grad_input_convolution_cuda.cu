#include "framework/cuda/cuda_compute.h"
#include "framework/ops/array/shortcut_kernels.h"
#include "framework/ops/connection/grad_input_convolution.h"
#include "framework/ops/connection/product_convolution.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/vectors_cuda.h"
#include "framework/ops/support/workspace_layout.h"

namespace skyline {
namespace {

// Writes element `index` of the turned weight [C, O, KH, KW] from the weight [O, C, KH, KW]. Only
// writes are side by side; what is read apart stays in the cache, because weights are small.
struct TurnBody {
  Divider by_outputs, by_window;
  std::int64_t inputs, window;
  const float* weight;
  float* turned;

  __device__ void operator()(std::int64_t index) const {
    const auto [row, output] = by_outputs(index);
    const auto [input, pixel] = by_window(row);
    turned[index] = weight[(output * window + window - 1 - pixel) * inputs + input];
  }
};

class TurnedConvolution final : public Convolution {
 public:
  TurnedConvolution(CudaCompute& compute, const Conv2dProblem& problem)
      : compute_(compute),
        weight_(problem.weight),
        convolution_(make_convolution(compute, ConvolutionKind::kForward, turned(problem))) {
    workspace_.add(convolution_->workspace_bytes());
    turned_ = workspace_.add_floats(weight_.elements());
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const ConvolutionOperands& operands) override {
    auto* turned = reinterpret_cast<float*>(operands.workspace + turned_);
    const std::int64_t window = weight_[2] * weight_[3];
    for_each_index(
        compute_, weight_.elements(),
        TurnBody{Divider(weight_[0]), Divider(window), weight_[1], window, operands.first, turned});
    convolution_->run({.first = operands.second,
                       .second = turned,
                       .result = operands.result,
                       .workspace = operands.workspace});
  }

 private:
  // Every pixel of x gets the windows that contain it: grad_output is padded to that end.
  static Conv2dProblem turned(const Conv2dProblem& problem) {
    const Shape& weight = problem.weight;
    const Size2d padding = problem.params.padding;
    return {.x = problem.y,
            .weight = {weight[1], weight[0], weight[2], weight[3]},
            .y = problem.x,
            .params = {.padding = {static_cast<int>(weight[2]) - 1 - padding.height,
                                   static_cast<int>(weight[3]) - 1 - padding.width}}};
  }

  CudaCompute& compute_;
  Shape weight_;
  std::unique_ptr<Convolution> convolution_;
  WorkspaceLayout workspace_;
  std::size_t turned_;
};

class SpreadProduct final : public Convolution {
 public:
  SpreadProduct(CudaCompute& compute, const Conv2dProblem& problem) {
    const Shape pixels{problem.x[0], problem.x[1], problem.y[2], problem.y[3]};
    product_ = make_product_convolution(
        compute, ConvolutionKind::kGradInput,
        {.x = pixels, .weight = problem.weight, .y = problem.y, .params = {}});
    spread_ = make_shortcut_grad_cuda(
        compute, {.x = problem.x, .y = pixels, .stride = problem.params.stride.height});
    workspace_.add(product_->workspace_bytes());
    pixels_ = workspace_.add_floats(pixels.elements());
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const ConvolutionOperands& operands) override {
    const std::byte* pixels = operands.workspace + pixels_;
    auto* image = reinterpret_cast<std::byte*>(operands.result);
    product_->run({.first = operands.first,
                   .second = operands.second,
                   .result = reinterpret_cast<float*>(operands.workspace + pixels_),
                   .workspace = operands.workspace});
    spread_->run({.inputs = {&pixels, 1}, .outputs = {&image, 1}});
  }

 private:
  std::unique_ptr<Convolution> product_;
  std::unique_ptr<Kernel> spread_;
  WorkspaceLayout workspace_;
  std::size_t pixels_;
};

bool can_turn(const Conv2dProblem& problem) {
  const auto& [stride, padding, groups, relu] = problem.params;
  return stride == Size2d(1) && padding.height < problem.weight[2] &&
         padding.width < problem.weight[3];
}

bool can_spread(const Conv2dProblem& problem) {
  Conv2dProblem dense = problem;
  dense.params.stride = 1;
  return is_product(dense) && problem.params.stride.height == problem.params.stride.width;
}

std::unique_ptr<Convolution> make(CudaCompute& compute, const Conv2dProblem& problem) {
  if (can_turn(problem)) return std::make_unique<TurnedConvolution>(compute, problem);
  if (can_spread(problem)) return std::make_unique<SpreadProduct>(compute, problem);
  return nullptr;
}

}  // namespace

std::unique_ptr<Convolution> make_grad_input_convolution(CudaCompute& compute,
                                                         const Conv2dProblem& problem) {
  const CudaOptions& options = compute.options();
  if (options.tf32 || problem.params.groups != 1) return nullptr;
  auto convolution = make(compute, problem);
  const bool fits = !convolution || !options.workspace_bytes ||
                    convolution->workspace_bytes() <= *options.workspace_bytes;
  return fits ? std::move(convolution) : nullptr;
}

}  // namespace skyline
