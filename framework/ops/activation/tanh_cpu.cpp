#include "framework/ops/activation/tanh_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {

std::unique_ptr<Kernel> make_tanh_cpu(std::int64_t elements) {
  return make_elementwise_cpu<1>(elements, kSerialTranscendental, TanhFunction{});
}

std::unique_ptr<Kernel> make_tanh_grad_cpu(std::int64_t elements) {
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, TanhGradFunction{});
}

}  // namespace skyline
