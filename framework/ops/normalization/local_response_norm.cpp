#include "framework/ops/normalization/local_response_norm.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

LocalResponseNormProblem problem_of(const Shape& x, const LocalResponseNormParams& params) {
  return {.pixels = x[0] * x[2] * x[3], .channels = x[1], .params = params};
}

std::string params_text(const LocalResponseNormParams& params) {
  return fmt::format("size={} k={} alpha={} beta={}", params.size, params.k, params.alpha,
                     params.beta);
}

void check_params(const LocalResponseNormParams& params) {
  if (params.size < 1 || params.size > kLocalResponseNormMaxSize || params.size % 2 == 0) {
    throw ShapeError("local_response_norm", "size", std::to_string(params.size),
                     fmt::format("odd, 1 to {}", kLocalResponseNormMaxSize));
  }
  if (!(params.k > 0 && params.alpha >= 0 && params.beta >= 0)) {
    throw std::invalid_argument(
        fmt::format("[local_response_norm] parameters, got {}, expected k > 0, alpha and beta >= 0",
                    params_text(params)));
  }
}

std::shared_ptr<const Op> grad_op(const TensorSpec& x, const LocalResponseNormParams& params) {
  return gradient_op(
      problem_of(x.shape, params),
      {.name = "local_response_norm_grad",
       .parameters = params_text(params),
       .operands = {{"x", x}, {"grad_output", x}},
       .outputs = {x},
       .kernels = {make_local_response_norm_grad_cpu, make_local_response_norm_grad_cuda},
       .in_place = {{.input = 1, .output = 0}, {.input = 0, .output = 0}}});
}

class LocalResponseNorm : public Op {
 public:
  explicit LocalResponseNorm(LocalResponseNormParams params) : params_(params) {
    check_params(params);
  }
  std::string_view name() const override { return "local_response_norm"; }
  std::string parameters() const override { return params_text(params_); }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("local_response_norm", inputs.size(), 1);
    require_float("local_response_norm", "x", inputs[0], 4);
    return {{inputs[0], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const KernelMakers<LocalResponseNormProblem> kernels(make_local_response_norm_cpu,
                                                         make_local_response_norm_cuda);
    return kernels.make(compute, problem_of(inputs[0].shape, params_));
  }
  std::vector<Recomputation> recomputations(std::span<const TensorSpec>) const override {
    return {Recomputation::from_inputs(1)};
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    return {{.op = grad_op(inputs[0], params_),
             .sources = {GradientSource::input(0), GradientSource::grad_output(0)},
             .gradient_of = {0}}};
  }

 private:
  LocalResponseNormParams params_;
};

}  // namespace

Link local_response_norm_link(LocalResponseNormParams params) {
  return {.op = std::make_shared<LocalResponseNorm>(params)};
}

Tensor local_response_norm(Context& context, Tensor x, LocalResponseNormParams params) {
  return apply(context, local_response_norm_link(params), std::move(x));
}

}  // namespace skyline
