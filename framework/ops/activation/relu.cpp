#include "framework/ops/activation/relu.h"

#include <utility>

#include "framework/ops/activation/activation.h"
#include "framework/ops/activation/relu_kernels.h"

namespace skyline {

namespace {

constexpr Activation kRelu = {.name = "relu",
                              .grad_name = "relu_grad",
                              .forward = {make_relu_cpu, make_relu_cuda},
                              .backward = {make_relu_grad_cpu, make_relu_grad_cuda}};

}  // namespace

Tensor relu(Context& context, Tensor x) { return apply_activation(context, kRelu, std::move(x)); }

std::shared_ptr<const Op> relu_op() { return activation_op(kRelu); }

}  // namespace skyline
