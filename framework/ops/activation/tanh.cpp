#include "framework/ops/activation/tanh.h"

#include <utility>

#include "framework/ops/activation/activation.h"
#include "framework/ops/activation/tanh_kernels.h"

namespace skyline {

Tensor tanh(Context& context, Tensor x) {
  static constexpr Activation kTanh = {.name = "tanh",
                                       .grad_name = "tanh_grad",
                                       .forward = {make_tanh_cpu, make_tanh_cuda},
                                       .backward = {make_tanh_grad_cpu, make_tanh_grad_cuda}};
  return apply_activation(context, kTanh, std::move(x));
}

}  // namespace skyline
