#include "framework/ops/connection/conv2d_engines_cpu.h"
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

// Winograd has layouts of its own.
memory::desc chosen_images(const Shape& images, ConvolutionEngine engine) {
  return engine == ConvolutionEngine::kWinograd ? dnnl_any_layout(images) : dnnl_layout(images);
}

dnnl::algorithm algorithm_of(ConvolutionEngine engine) {
  return engine == ConvolutionEngine::kWinograd ? dnnl::algorithm::convolution_winograd
                                                : dnnl::algorithm::convolution_direct;
}

dnnl::primitive_attr finish_of(const Conv2dProblem& problem) {
  dnnl::primitive_attr attributes = dnnl_user_scratchpad();
  if (!problem.params.relu) return attributes;
  dnnl::post_ops relu;
  relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  attributes.set_post_ops(relu);
  return attributes;
}

// Each description is empty if the library has no such implementation, except that of kDirect,
// which throws.

dnnl::convolution_forward::primitive_desc describe(const Conv2dProblem& problem,
                                                   ConvolutionEngine engine) {
  const Windows windows(problem.params);
  const auto algorithm = algorithm_of(engine);
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc x = chosen_images(problem.x, engine), y = chosen_images(problem.y, engine);
  const memory::desc weight = chosen_weight(problem);
  using Description = dnnl::convolution_forward::desc;
  const Description description =
      problem.bias ? Description(kind, algorithm, x, weight, dnnl_layout(problem.bias_shape()), y,
                                 windows.strides, windows.padding, windows.padding)
                   : Description(kind, algorithm, x, weight, y, windows.strides, windows.padding,
                                 windows.padding);
  return {description, finish_of(problem), dnnl_engine(), engine != ConvolutionEngine::kDirect};
}

dnnl::convolution_backward_data::primitive_desc describe_grad_input(const Conv2dProblem& problem,
                                                                    ConvolutionEngine engine) {
  const Windows windows(problem.params);
  const dnnl::convolution_backward_data::desc description(
      algorithm_of(engine), chosen_images(problem.x, engine), chosen_weight(problem),
      chosen_images(problem.y, engine), windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(),
          describe(problem, ConvolutionEngine::kDirect), engine != ConvolutionEngine::kDirect};
}

dnnl::convolution_backward_weights::primitive_desc describe_grad_weight(
    const Conv2dProblem& problem, ConvolutionEngine engine) {
  const Windows windows(problem.params);
  const auto algorithm = algorithm_of(engine);
  const memory::desc x = chosen_images(problem.x, engine), y = chosen_images(problem.y, engine);
  const memory::desc weight = chosen_weight(problem);
  using Description = dnnl::convolution_backward_weights::desc;
  const Description description =
      problem.bias
          ? Description(algorithm, x, weight, dnnl_layout(problem.bias_shape()), y, windows.strides,
                        windows.padding, windows.padding)
          : Description(algorithm, x, weight, y, windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(),
          describe(problem, ConvolutionEngine::kDirect), engine != ConvolutionEngine::kDirect};
}

// Some images of a batch.
struct ImagePart {
  Conv2dProblem problem;                       // of these images alone
  std::size_t x_offset_bytes, y_offset_bytes;  // of the first image
};

ImagePart image_part(const Conv2dProblem& problem, const RowRange& images) {
  const auto of_images = [](const Shape& all, std::int64_t count) {
    return Shape{count, all[1], all[2], all[3]};
  };
  ImagePart part{problem, TensorSpec{of_images(problem.x, images.first)}.bytes(),
                 TensorSpec{of_images(problem.y, images.first)}.bytes()};
  part.problem.x = of_images(problem.x, images.count);
  part.problem.y = of_images(problem.y, images.count);
  return part;
}

std::vector<ImagePart> image_parts(const Conv2dProblem& problem, std::size_t parts) {
  std::vector<ImagePart> split;
  for (const RowRange& images : row_parts({0, problem.x[0]}, parts)) {
    split.push_back(image_part(problem, images));
  }
  return split;
}

// Returns a kernel that works on each part of a batch in a part of its own. It begins with input
// `weight` in the library's layout, which all parts read. describe(problem) describes a part;
// call(kernel, part, description, weight) calls it. Null if a description is empty.
template <typename Describe, typename Call>
std::unique_ptr<DnnlKernel> make_in_parts(const Conv2dProblem& problem, std::size_t parts,
                                          std::size_t weight, const Describe& describe,
                                          const Call& call) {
  auto kernel = std::make_unique<DnnlKernel>();
  const auto stored = kernel->input(weight, stored_weight(problem));
  const std::vector<ImagePart> images = image_parts(problem, parts);
  std::vector<decltype(describe(problem))> descriptors;
  for (const ImagePart& part : images) {
    descriptors.push_back(describe(part.problem));
    if (!descriptors.back()) return nullptr;
    kernel->reordered(stored, descriptors.back().weights_desc());
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    kernel->begin_part();
    call(*kernel, images[i], descriptors[i],
         kernel->reordered(stored, descriptors[i].weights_desc()));
  }
  return kernel;
}

std::unique_ptr<DnnlKernel> make_forward(const Conv2dProblem& problem, ConvolutionEngine engine,
                                         std::size_t parts) {
  const auto describe_part = [&](const Conv2dProblem& part) { return describe(part, engine); };
  const auto call = [](DnnlKernel& kernel, const ImagePart& part, const auto& descriptor,
                       DnnlKernel::Operand weight) {
    const memory::desc plain = dnnl_layout(part.problem.y);
    const auto x = kernel.input(0, dnnl_layout(part.problem.x), part.x_offset_bytes);
    const auto y = kernel.output_as(0, plain, descriptor.dst_desc(), part.y_offset_bytes);
    std::unordered_map<int, DnnlKernel::Operand> arguments = {
        {DNNL_ARG_WEIGHTS, weight},
        {DNNL_ARG_SRC, kernel.reordered(x, descriptor.src_desc())},
        {DNNL_ARG_DST, y}};
    if (part.problem.bias) arguments[DNNL_ARG_BIAS] = kernel.input(2, descriptor.bias_desc());
    kernel.call(descriptor, arguments);
    kernel.finish_output(y, 0, plain, part.y_offset_bytes);
  };
  return make_in_parts(problem, parts, 1, describe_part, call);
}

std::unique_ptr<DnnlKernel> make_grad_input(const Conv2dProblem& problem, ConvolutionEngine engine,
                                            std::size_t parts) {
  const auto describe_part = [&](const Conv2dProblem& part) {
    return describe_grad_input(part, engine);
  };
  const auto call = [](DnnlKernel& kernel, const ImagePart& part, const auto& descriptor,
                       DnnlKernel::Operand weight) {
    const memory::desc plain = dnnl_layout(part.problem.x);
    const auto grad_y = kernel.input(1, dnnl_layout(part.problem.y), part.y_offset_bytes);
    const auto grad_x = kernel.output_as(0, plain, descriptor.diff_src_desc(), part.x_offset_bytes);
    kernel.call(descriptor,
                {{DNNL_ARG_WEIGHTS, weight},
                 {DNNL_ARG_DIFF_DST, kernel.reordered(grad_y, descriptor.diff_dst_desc())},
                 {DNNL_ARG_DIFF_SRC, grad_x}});
    kernel.finish_output(grad_x, 0, plain, part.x_offset_bytes);
  };
  return make_in_parts(problem, parts, 0, describe_part, call);
}

std::unique_ptr<DnnlKernel> make_grad_weight(const Conv2dProblem& problem,
                                             ConvolutionEngine engine) {
  const auto descriptor = describe_grad_weight(problem, engine);
  if (!descriptor) return nullptr;
  const memory::desc plain = stored_weight(problem);
  auto kernel = std::make_unique<DnnlKernel>();
  const auto x = kernel->input(0, dnnl_layout(problem.x));
  const auto grad_output = kernel->input(1, dnnl_layout(problem.y));
  const auto grad_weight = kernel->output_as(0, plain, descriptor.diff_weights_desc());
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->reordered(x, descriptor.src_desc())},
      {DNNL_ARG_DIFF_DST, kernel->reordered(grad_output, descriptor.diff_dst_desc())},
      {DNNL_ARG_DIFF_WEIGHTS, grad_weight}};
  if (problem.bias) arguments[DNNL_ARG_DIFF_BIAS] = kernel->output(1, descriptor.diff_bias_desc());
  kernel->call(descriptor, arguments);
  kernel->finish_output(grad_weight, 0, plain);
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

// Describes a [rows, columns] matrix that is stored as its transpose.
memory::desc transposed(const Shape& lies_as) {
  return memory::desc({lies_as[1], lies_as[0]}, memory::data_type::f32, memory::format_tag::ba);
}

bool has_product(ConvolutionKind kind, const Conv2dProblem& problem) {
  const Conv2dParams& params = problem.params;
  return problem.weight[2] == 1 && problem.weight[3] == 1 && params.stride == Size2d(1) &&
         params.padding == Size2d(0) && params.groups == 1 &&
         !(kind == ConvolutionKind::kGradWeight && problem.bias);
}

// An input or the output of the op, by number, from `offset_bytes` on.
struct ProductOperand {
  std::size_t index;
  memory::desc layout;
  std::size_t offset_bytes = 0;
};

// `bias` is input 2.
void call_product(DnnlKernel& kernel, const ProductOperand& left, const ProductOperand& right,
                  const ProductOperand& result, const memory::desc* bias,
                  const dnnl::primitive_attr& attributes) {
  using Description = dnnl::matmul::desc;
  const dnnl::matmul::primitive_desc descriptor(
      bias ? Description(left.layout, right.layout, *bias, result.layout)
           : Description(left.layout, right.layout, result.layout),
      attributes, dnnl_engine());
  const auto input = [&](const ProductOperand& operand) {
    return kernel.input(operand.index, operand.layout, operand.offset_bytes);
  };
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, input(left)},
      {DNNL_ARG_WEIGHTS, input(right)},
      {DNNL_ARG_DST, kernel.output(result.index, result.layout, result.offset_bytes)}};
  if (bias) arguments[DNNL_ARG_BIAS] = kernel.input(2, *bias);
  kernel.call(descriptor, std::move(arguments));
}

std::unique_ptr<DnnlKernel> make_product(ConvolutionKind kind, const Conv2dProblem& problem,
                                         std::size_t parts) {
  if (!has_product(kind, problem)) return nullptr;
  const auto call = [&](DnnlKernel& kernel, const RowRange& images) {
    const ImagePart part = image_part(problem, images);
    const Matrices of(part.problem);
    const memory::desc x = dnnl_layout(of.x), weight = dnnl_layout(of.weight);
    const memory::desc y = dnnl_layout(of.y), bias = dnnl_layout({1, of.y[1]});
    const std::size_t x_at = part.x_offset_bytes, y_at = part.y_offset_bytes;
    switch (kind) {
      case ConvolutionKind::kForward:
        return call_product(kernel, {0, x, x_at}, {1, transposed(of.weight)}, {0, y, y_at},
                            problem.bias ? &bias : nullptr, finish_of(problem));
      case ConvolutionKind::kGradInput:
        return call_product(kernel, {1, y, y_at}, {0, weight}, {0, x, x_at}, nullptr,
                            dnnl_user_scratchpad());
      case ConvolutionKind::kGradWeight:
        return call_product(kernel, {1, transposed(of.y)}, {0, x}, {0, weight}, nullptr,
                            dnnl_user_scratchpad());
    }
  };
  const RowRange images{0, problem.x[0]};
  return make_row_products({&images, 1}, kind == ConvolutionKind::kGradWeight ? 1 : parts, call);
}

}  // namespace

std::unique_ptr<DnnlKernel> make_convolution_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                                 ConvolutionEngine engine, std::size_t parts) {
  if (engine == ConvolutionEngine::kProduct) return make_product(kind, problem, parts);
  switch (kind) {
    case ConvolutionKind::kForward:
      return make_forward(problem, engine, parts);
    case ConvolutionKind::kGradInput:
      return make_grad_input(problem, engine, parts);
    case ConvolutionKind::kGradWeight:
      return make_grad_weight(problem, engine);
  }
  return nullptr;
}

}  // namespace skyline
