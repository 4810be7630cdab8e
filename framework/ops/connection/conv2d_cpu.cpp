#include <vector>

#include "framework/ops/connection/conv2d_engines_cpu.h"
#include "framework/ops/connection/winograd_cpu.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_products_cpu.h"

namespace skyline {

namespace {

using dnnl::memory;

// Strides and paddings as oneDNN expects them: height, width.
struct Windows {
  explicit Windows(const Conv2dParams& params)
      : strides{params.stride.height, params.stride.width},
        padding{params.padding.height, params.padding.width} {}
  memory::dims strides;
  memory::dims padding;
};

// The weight as it is stored, O KH KW C. oneDNN takes groups as an axis of their own, the first.
memory::desc stored_weight(const Conv2dProblem& problem) {
  const Shape& weight = problem.weight;
  const std::int64_t groups = problem.params.groups;
  if (groups == 1) return dnnl_layout(weight);
  return {{groups, weight[0] / groups, weight[1], weight[2], weight[3]},
          memory::data_type::f32,
          memory::format_tag::gohwi};
}

// The library chooses the weights' layout: with a fixed O KH KW C, oneDNN 2.6 falls back to a
// reference kernel at 0.3 GFLOP/s.
memory::desc chosen_weight(const Conv2dProblem& problem) {
  return {stored_weight(problem).dims(), memory::data_type::f32, memory::format_tag::any};
}

dnnl::primitive_attr finish_of(const Conv2dProblem& problem) {
  dnnl::primitive_attr attributes = dnnl_user_scratchpad();
  if (!problem.params.relu) return attributes;
  dnnl::post_ops relu;
  relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  attributes.set_post_ops(relu);
  return attributes;
}

dnnl::convolution_forward::primitive_desc describe(const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = chosen_weight(problem);
  using Description = dnnl::convolution_forward::desc;
  const Description description =
      problem.bias ? Description(kind, algorithm, x, weight, dnnl_layout(problem.bias_shape()), y,
                                 windows.strides, windows.padding, windows.padding)
                   : Description(kind, algorithm, x, weight, y, windows.strides, windows.padding,
                                 windows.padding);
  return {description, finish_of(problem), dnnl_engine()};
}

dnnl::convolution_backward_data::primitive_desc describe_grad_input(const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const dnnl::convolution_backward_data::desc description(
      dnnl::algorithm::convolution_direct, dnnl_layout(problem.x), chosen_weight(problem),
      dnnl_layout(problem.y), windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

dnnl::convolution_backward_weights::primitive_desc describe_grad_weight(
    const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = chosen_weight(problem);
  using Description = dnnl::convolution_backward_weights::desc;
  const Description description =
      problem.bias
          ? Description(algorithm, x, weight, dnnl_layout(problem.bias_shape()), y, windows.strides,
                        windows.padding, windows.padding)
          : Description(algorithm, x, weight, y, windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

// Some images of a batch.
struct ImagePart {
  Conv2dProblem problem;
  std::size_t x_at, y_at;  // offsets in bytes
};

ImagePart image_part(const Conv2dProblem& problem, const RowRange& images) {
  const auto of_images = [](const Shape& all, std::int64_t count) {
    return Shape{count, all[1], all[2], all[3]};
  };
  const auto offset = [&](const Shape& all) {
    return TensorSpec{of_images(all, images.first)}.bytes();
  };
  ImagePart part{problem, offset(problem.x), offset(problem.y)};
  part.problem.x = of_images(problem.x, images.count);
  part.problem.y = of_images(problem.y, images.count);
  return part;
}

// Returns a kernel that works on each part of a batch in a part of its own. It begins with input
// `weight` in the library's layout, which all parts read. describe(problem) describes some images;
// call(kernel, images, description, weight) calls it.
template <typename Describe, typename Call>
std::unique_ptr<Kernel> make_in_parts(const Conv2dProblem& problem, std::size_t parts,
                                      std::size_t weight, const Describe& describe,
                                      const Call& call) {
  struct Described {
    ImagePart images;
    decltype(describe(problem)) descriptor;
  };
  auto kernel = std::make_unique<DnnlKernel>();
  const auto stored = kernel->input(weight, stored_weight(problem));
  std::vector<Described> split;
  for (const RowRange& range : row_parts({0, problem.x[0]}, parts)) {
    const ImagePart images = image_part(problem, range);
    split.push_back({images, describe(images.problem)});
    kernel->reordered(stored, split.back().descriptor.weights_desc());
  }
  for (const auto& [images, descriptor] : split) {
    kernel->begin_part();
    call(*kernel, images, descriptor, kernel->reordered(stored, descriptor.weights_desc()));
  }
  return kernel;
}

std::unique_ptr<Kernel> make_forward(const Conv2dProblem& problem, std::size_t parts) {
  const auto call = [](DnnlKernel& kernel, const ImagePart& part, const auto& descriptor,
                       DnnlKernel::Operand weight) {
    std::unordered_map<int, DnnlKernel::Operand> arguments = {
        {DNNL_ARG_WEIGHTS, weight},
        {DNNL_ARG_SRC, kernel.input(0, descriptor.src_desc(), part.x_at)},
        {DNNL_ARG_DST, kernel.output(0, descriptor.dst_desc(), part.y_at)}};
    if (part.problem.bias) arguments[DNNL_ARG_BIAS] = kernel.input(2, descriptor.bias_desc());
    kernel.call(descriptor, arguments);
  };
  return make_in_parts(problem, parts, 1, describe, call);
}

std::unique_ptr<Kernel> make_grad_input(const Conv2dProblem& problem, std::size_t parts) {
  const auto call = [](DnnlKernel& kernel, const ImagePart& part, const auto& descriptor,
                       DnnlKernel::Operand weight) {
    kernel.call(descriptor,
                {{DNNL_ARG_WEIGHTS, weight},
                 {DNNL_ARG_DIFF_DST, kernel.input(1, descriptor.diff_dst_desc(), part.y_at)},
                 {DNNL_ARG_DIFF_SRC, kernel.output(0, descriptor.diff_src_desc(), part.x_at)}});
  };
  return make_in_parts(problem, parts, 0, describe_grad_input, call);
}

std::unique_ptr<Kernel> make_grad_weight(const Conv2dProblem& problem) {
  auto kernel = std::make_unique<DnnlKernel>();
  const auto descriptor = describe_grad_weight(problem);
  const memory::desc weight = stored_weight(problem);
  const auto grad_weight = kernel->output_as(0, weight, descriptor.diff_weights_desc());
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
      {DNNL_ARG_DIFF_WEIGHTS, grad_weight}};
  if (problem.bias) {
    arguments[DNNL_ARG_DIFF_BIAS] = kernel->output(1, descriptor.diff_bias_desc());
  }
  kernel->call(descriptor, arguments);
  kernel->finish_output(grad_weight, 0, weight);
  return kernel;
}

// The matrices of a pointwise convolution, as they are stored: pixels by channels, and outputs by
// channels.
struct Matrices {
  explicit Matrices(const Conv2dProblem& problem)
      : x{problem.x.elements() / problem.x[1], problem.x[1]},
        weight{problem.weight[0], problem.weight[1]},
        y{x[0], problem.y[1]} {}
  Shape x, weight, y;
};

std::unique_ptr<Kernel> make_product(ConvolutionKind kind, const Conv2dProblem& problem,
                                     std::size_t parts) {
  if (!problem.is_product()) return nullptr;
  if (kind == ConvolutionKind::kGradWeight) {
    const Matrices of(problem);
    const RowRange rows{0, of.x[0]};
    return make_grad_weight_products({&rows, 1}, of.x, of.y, problem.bias);
  }
  const auto call = [&](DnnlKernel& kernel, const RowRange& images) {
    const ImagePart part = image_part(problem, images);
    const Matrices of(part.problem);
    const memory::desc x = dnnl_layout(of.x), weight = dnnl_layout(of.weight);
    const memory::desc y = dnnl_layout(of.y), bias = dnnl_layout({1, of.y[1]});
    if (kind == ConvolutionKind::kForward) {
      call_product(kernel, {0, x, part.x_at}, {1, transposed(of.weight)}, {0, y, part.y_at},
                   finish_of(problem), problem.bias ? &bias : nullptr);
    } else {
      call_product(kernel, {1, y, part.y_at}, {0, weight}, {0, x, part.x_at},
                   dnnl_user_scratchpad());
    }
  };
  const RowRange images{0, problem.x[0]};
  return make_row_products({&images, 1}, parts, call);
}

}  // namespace

std::unique_ptr<Kernel> make_convolution_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                             ConvolutionEngine engine, std::size_t parts) {
  switch (engine) {
    case ConvolutionEngine::kProduct:
      return make_product(kind, problem, parts);
    case ConvolutionEngine::kWinograd:
      if (winograd_codes(problem).empty()) return nullptr;
      return make_winograd_cpu(kind, problem, *winograd_codes(problem).front(), parts);
    case ConvolutionEngine::kDirect:
      break;
  }
  switch (kind) {
    case ConvolutionKind::kForward:
      return make_forward(problem, parts);
    case ConvolutionKind::kGradInput:
      return make_grad_input(problem, parts);
    case ConvolutionKind::kGradWeight:
      return make_grad_weight(problem);
  }
  return nullptr;
}

}  // namespace skyline
