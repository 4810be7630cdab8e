#include "framework/ops/connection/conv2d_engines_cpu.h"
#include "framework/ops/support/dnnl_kernel.h"

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

std::unique_ptr<DnnlKernel> make_forward(const Conv2dProblem& problem, ConvolutionEngine engine) {
  const auto descriptor = describe(problem, engine);
  if (!descriptor) return nullptr;
  auto kernel = std::make_unique<DnnlKernel>();
  const auto x = kernel->input(0, dnnl_layout(problem.x));
  const auto weight = kernel->input(1, stored_weight(problem));
  const auto y = kernel->output_as(0, dnnl_layout(problem.y), descriptor.dst_desc());
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_WEIGHTS, kernel->reordered(weight, descriptor.weights_desc())},
      {DNNL_ARG_SRC, kernel->reordered(x, descriptor.src_desc())},
      {DNNL_ARG_DST, y}};
  if (problem.bias) arguments[DNNL_ARG_BIAS] = kernel->input(2, descriptor.bias_desc());
  kernel->call(descriptor, arguments);
  kernel->finish_output(y, 0, dnnl_layout(problem.y));
  return kernel;
}

std::unique_ptr<DnnlKernel> make_grad_input(const Conv2dProblem& problem,
                                            ConvolutionEngine engine) {
  const auto descriptor = describe_grad_input(problem, engine);
  if (!descriptor) return nullptr;
  auto kernel = std::make_unique<DnnlKernel>();
  const auto weight = kernel->input(0, stored_weight(problem));
  const auto grad_output = kernel->input(1, dnnl_layout(problem.y));
  const auto grad_input = kernel->output_as(0, dnnl_layout(problem.x), descriptor.diff_src_desc());
  kernel->call(descriptor,
               {{DNNL_ARG_WEIGHTS, kernel->reordered(weight, descriptor.weights_desc())},
                {DNNL_ARG_DIFF_DST, kernel->reordered(grad_output, descriptor.diff_dst_desc())},
                {DNNL_ARG_DIFF_SRC, grad_input}});
  kernel->finish_output(grad_input, 0, dnnl_layout(problem.x));
  return kernel;
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

// The operands are inputs or outputs of the op, by number; `bias` is input 2.
struct ProductOperand {
  int index;
  memory::desc layout;
};

std::unique_ptr<DnnlKernel> make_product(const ProductOperand& left, const ProductOperand& right,
                                         const memory::desc& result, const memory::desc* bias,
                                         const dnnl::primitive_attr& attributes) {
  using Description = dnnl::matmul::desc;
  const dnnl::matmul::primitive_desc descriptor(
      bias ? Description(left.layout, right.layout, *bias, result)
           : Description(left.layout, right.layout, result),
      attributes, dnnl_engine());
  auto kernel = std::make_unique<DnnlKernel>();
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->input(left.index, left.layout)},
      {DNNL_ARG_WEIGHTS, kernel->input(right.index, right.layout)},
      {DNNL_ARG_DST, kernel->output(0, result)}};
  if (bias) arguments[DNNL_ARG_BIAS] = kernel->input(2, *bias);
  kernel->call(descriptor, std::move(arguments));
  return kernel;
}

std::unique_ptr<DnnlKernel> make_product(ConvolutionKind kind, const Conv2dProblem& problem) {
  if (!has_product(kind, problem)) return nullptr;
  const Matrices of(problem);
  const memory::desc x = dnnl_layout(of.x), weight = dnnl_layout(of.weight), y = dnnl_layout(of.y);
  const memory::desc bias = dnnl_layout({1, of.y[1]});
  switch (kind) {
    case ConvolutionKind::kForward:
      return make_product({0, x}, {1, transposed(of.weight)}, y, problem.bias ? &bias : nullptr,
                          finish_of(problem));
    case ConvolutionKind::kGradInput:
      return make_product({1, y}, {0, weight}, x, nullptr, dnnl_user_scratchpad());
    case ConvolutionKind::kGradWeight:
      return make_product({1, transposed(of.y)}, {0, x}, weight, nullptr, dnnl_user_scratchpad());
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<DnnlKernel> make_convolution_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                                 ConvolutionEngine engine) {
  if (engine == ConvolutionEngine::kProduct) return make_product(kind, problem);
  switch (kind) {
    case ConvolutionKind::kForward:
      return make_forward(problem, engine);
    case ConvolutionKind::kGradInput:
      return make_grad_input(problem, engine);
    case ConvolutionKind::kGradWeight:
      return make_grad_weight(problem, engine);
  }
  return nullptr;
}

}  // namespace skyline
