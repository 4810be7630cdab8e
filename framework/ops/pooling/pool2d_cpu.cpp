#include <stdexcept>

#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/pooling/pool2d_small_max_cpu.h"
#include "framework/ops/support/dnnl_kernel.h"

namespace skyline {

namespace {

using dnnl::memory;

// Windows as oneDNN expects them. It derives the number of windows from the padding at the far
// edge, so that padding is set to exactly how far the last window exceeds the image.
struct Windows {
  explicit Windows(const Pool2dProblem& problem)
      : kernel{problem.params.kernel.height, problem.params.kernel.width},
        strides{problem.params.stride.height, problem.params.stride.width},
        padding{problem.params.padding.height, problem.params.padding.width} {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int tensor_axis = static_cast<int>(axis) + 2;
      const std::int64_t last_end = (problem.y[tensor_axis] - 1) * strides[axis] + kernel[axis];
      far_padding.push_back(last_end - problem.x[tensor_axis] - padding[axis]);
    }
  }
  memory::dims kernel, strides, padding, far_padding;
};

// In inference oneDNN keeps no argmax.
dnnl::pooling_forward::primitive_desc describe(
    const Pool2dProblem& problem, dnnl::algorithm algorithm,
    dnnl::prop_kind kind = dnnl::prop_kind::forward_training) {
  const Windows windows(problem);
  const dnnl::pooling_forward::desc description(
      kind, algorithm, dnnl_layout(problem.x), dnnl_layout(problem.y), windows.strides,
      windows.kernel, windows.padding, windows.far_padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine()};
}

dnnl::pooling_backward::primitive_desc describe_max_grad(const Pool2dProblem& problem) {
  const auto algorithm = dnnl::algorithm::pooling_max;
  const Windows windows(problem);
  const dnnl::pooling_backward::desc description(
      algorithm, dnnl_layout(problem.x), dnnl_layout(problem.y), windows.strides, windows.kernel,
      windows.padding, windows.far_padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem, algorithm)};
}

// Returns oneDNN's layout of the argmax. The op declared that tensor without asking the library, so
// the two are compared.
memory::desc argmax_layout(const Pool2dProblem& problem, const dnnl::primitive_desc& descriptor) {
  const TensorSpec argmax = problem.argmax();
  const auto type = argmax.dtype == DType::kUint8 ? memory::data_type::u8 : memory::data_type::s32;
  const memory::desc layout = dnnl_layout(argmax.shape, type);
  if (descriptor.workspace_desc() != layout) {
    throw std::logic_error("[max_pool2d] oneDNN keeps another argmax than " + argmax.str());
  }
  return layout;
}

// Input x; output y.
std::unique_ptr<DnnlKernel> make_forward(const dnnl::pooling_forward::primitive_desc& descriptor) {
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor, {{DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
                            {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())}});
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool2d_cpu(const Pool2dProblem& problem, bool argmax) {
  if (is_small_max_pool2d(problem)) return make_small_max_pool2d_cpu(problem, argmax);
  const auto algorithm = dnnl::algorithm::pooling_max;
  if (!argmax) {
    return make_forward(describe(problem, algorithm, dnnl::prop_kind::forward_inference));
  }
  const auto descriptor = describe(problem, algorithm);
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor,
               {{DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
                {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())},
                {DNNL_ARG_WORKSPACE, kernel->output(1, argmax_layout(problem, descriptor))}});
  return kernel;
}

std::unique_ptr<Kernel> make_max_pool2d_grad_cpu(const Pool2dProblem& problem) {
  if (is_small_max_pool2d(problem)) return make_small_max_pool2d_grad_cpu(problem);
  const auto descriptor = describe_max_grad(problem);
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor,
               {{DNNL_ARG_WORKSPACE, kernel->input(0, argmax_layout(problem, descriptor))},
                {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
                {DNNL_ARG_DIFF_SRC, kernel->output(0, descriptor.diff_src_desc())}});
  return kernel;
}

std::unique_ptr<Kernel> make_average_pool2d_cpu(const Pool2dProblem& problem) {
  return make_forward(describe(problem, dnnl::algorithm::pooling_avg_exclude_padding));
}

}  // namespace skyline
