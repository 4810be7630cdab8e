#include "framework/ops/array/shortcut_kernels.h"
#include "framework/ops/support/images_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

template <int kWidth>
struct ShortcutBody {
  ImageExtents x;
  PixelUnits units;
  int stride;
  const float* input;
  float* output;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, row, column, channel] = units(index);
    const float* from = input + x.offset(n, row * stride, column * stride) + channel;
    store(output + index * kWidth,
          channel < x.channels ? load<kWidth>(from) : vector_of<kWidth>(0));
  }
};

template <int kWidth>
struct ShortcutGradBody {
  ImageExtents y;
  PixelUnits units;
  int stride;
  const float* grad_output;
  float* grad_input;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, row, column, channel] = units(index);
    const bool taken = row % stride == 0 && column % stride == 0;
    const float* from = grad_output + y.offset(n, row / stride, column / stride) + channel;
    store(grad_input + index * kWidth, taken ? load<kWidth>(from) : vector_of<kWidth>(0));
  }
};

bool in_fours(const ShortcutProblem& problem) {
  return problem.x[1] % kFloats == 0 && problem.y[1] % kFloats == 0;
}

}  // namespace

std::unique_ptr<Kernel> make_shortcut_cuda(CudaCompute& compute, const ShortcutProblem& problem) {
  return make_pixel_kernel(
      compute, problem.y, in_fours(problem),
      [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
        return ShortcutBody<width.value>{ImageExtents(problem.x), units,
                                         static_cast<int>(problem.stride),
                                         arguments.input<float>(0), arguments.output<float>(0)};
      });
}

std::unique_ptr<Kernel> make_shortcut_grad_cuda(CudaCompute& compute,
                                                const ShortcutProblem& problem) {
  return make_pixel_kernel(
      compute, problem.x, in_fours(problem),
      [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
        return ShortcutGradBody<width.value>{ImageExtents(problem.y), units,
                                             static_cast<int>(problem.stride),
                                             arguments.input<float>(0), arguments.output<float>(0)};
      });
}

}  // namespace skyline
