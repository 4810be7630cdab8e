#include "framework/ops/activation/sigmoid.h"

#include <utility>

#include "framework/ops/activation/activation.h"
#include "framework/ops/activation/sigmoid_kernels.h"

namespace skyline {

Tensor sigmoid(Context& context, Tensor x) {
  static constexpr Activation kSigmoid = {
      .name = "sigmoid",
      .grad_name = "sigmoid_grad",
      .forward = {make_sigmoid_cpu, make_sigmoid_cuda},
      .backward = {make_sigmoid_grad_cpu, make_sigmoid_grad_cuda}};
  return apply_activation(context, kSigmoid, std::move(x));
}

}  // namespace skyline
