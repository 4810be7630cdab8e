#include <array>

#include "framework/cuda/launch.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/support/vectors_cuda.h"
#include "framework/philox.h"

namespace skyline {
namespace {

// Each thread draws the four words of its counter, for elements kDropoutStride apart, so that a
// warp always touches neighbouring elements.
struct DropoutBody {
  const float* input;
  float* output;
  std::int64_t elements;
  Philox philox;
  RunNumber<std::uint64_t> stream;
  std::uint64_t offset;
  std::uint32_t threshold;
  float scale;

  __device__ void operator()(std::int64_t counter) const {
    const std::int64_t first =
        counter / kDropoutStride * (4 * kDropoutStride) + counter % kDropoutStride;
    float values[4];
    for (int k = 0; k < 4; ++k) {
      const std::int64_t element = first + k * kDropoutStride;
      values[k] = element < elements ? input[element] : 0.0f;
    }
    const std::array<std::uint32_t, 4> words =
        philox(stream.get() + offset, static_cast<std::uint64_t>(counter));
    for (int k = 0; k < 4; ++k) {
      const std::int64_t element = first + k * kDropoutStride;
      const bool kept = words[static_cast<std::size_t>(k)] >= threshold;
      if (element < elements) output[element] = kept ? values[k] * scale : 0.0f;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_activation_cuda(CudaCompute& compute,
                                             const ActivationProblem& problem) {
  return with_function(problem, [&](auto function) {
    return make_elementwise_cuda(compute, problem.elements, function);
  });
}

std::unique_ptr<Kernel> make_dropout_cuda(CudaCompute& compute, std::int64_t elements,
                                          DropoutMask mask) {
  return make_kernel([&compute, elements, mask](const KernelArguments& arguments) {
    constexpr std::int64_t kBlock = 4 * kDropoutStride;
    const std::int64_t counters = (elements + kBlock - 1) / kBlock * kDropoutStride;
    for_each_index(compute, counters,
                   DropoutBody{arguments.input<float>(0), arguments.output<float>(0), elements,
                               Philox{mask.seed}, run_number(arguments, mask.stream), mask.offset,
                               mask.threshold(), mask.scale()});
  });
}

}  // namespace skyline
