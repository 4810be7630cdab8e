#include "framework/ops/math/sum.h"

#include "framework/ops/math/sum_kernels.h"

namespace skyline {

std::unique_ptr<Kernel> Sum::kernel(Compute& compute, std::span<const TensorSpec> inputs) const {
  const std::int64_t elements = inputs[0].shape.elements();
  return compute.cuda() ? make_sum_cuda(*compute.cuda(), elements, inputs_)
                        : make_sum_cpu(elements, inputs_);
}

}  // namespace skyline
