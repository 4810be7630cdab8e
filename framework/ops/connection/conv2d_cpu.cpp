#include <omp.h>

#include <algorithm>
#include <vector>

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

// Some images of a batch, or of each of several rounds that follow each other.
struct ImagePart {
  Conv2dProblem problem;   // of the images of one round
  DnnlKernel::Slice x, y;  // of the first round
  std::size_t rounds = 1;
};

ImagePart image_part(const Conv2dProblem& problem, const RowRange& images,
                     std::int64_t rounds = 1) {
  const auto of_images = [](const Shape& all, std::int64_t count) {
    return Shape{count, all[1], all[2], all[3]};
  };
  const auto slice = [&](const Shape& all) {
    return DnnlKernel::Slice(TensorSpec{of_images(all, images.first)}.bytes(),
                             TensorSpec{of_images(all, images.count / rounds)}.bytes());
  };
  ImagePart part{problem, slice(problem.x), slice(problem.y), static_cast<std::size_t>(rounds)};
  part.problem.x = of_images(problem.x, images.count / rounds);
  part.problem.y = of_images(problem.y, images.count / rounds);
  return part;
}

// How many calls compute a batch. Winograd's share a workspace: each has enough pixels for all
// threads, and for each weight that it transforms. Its last bits depend on the images of a call.
std::int64_t rounds_of(const Conv2dProblem& problem, ConvolutionEngine engine, std::size_t parts) {
  const std::int64_t images = problem.x[0];
  if (engine != ConvolutionEngine::kWinograd) {
    return std::min(static_cast<std::int64_t>(parts), images);
  }
  const std::int64_t fewest_pixels = std::max(3072, 1536 * omp_get_max_threads());
  return std::clamp<std::int64_t>(images * problem.y[2] * problem.y[3] / fewest_pixels, 1, images);
}

// Returns some rounds of a batch that is divided into `all` almost equal ones, the larger ones
// first. Those of one size are one element.
std::vector<ImagePart> image_rounds(const Conv2dProblem& problem, std::int64_t all,
                                    const RowRange& rounds) {
  const std::int64_t size = problem.x[0] / all, larger = problem.x[0] % all;
  const std::int64_t end = rounds.first + rounds.count,
                     turn = std::clamp(larger, rounds.first, end);
  std::vector<ImagePart> parts;
  if (const std::int64_t count = turn - rounds.first; count > 0) {
    parts.push_back(image_part(problem, {rounds.first * (size + 1), count * (size + 1)}, count));
  }
  if (const std::int64_t count = end - turn; count > 0) {
    parts.push_back(image_part(problem, {turn * size + larger, count * size}, count));
  }
  return parts;
}

// Returns a kernel that works on each part of a batch in a part of its own, by whole rounds. It
// begins with input `weight` in the library's layout, which all parts read. describe(problem)
// describes some images; call(kernel, images, description, weight) calls it. Null if a description
// is empty.
template <typename Describe, typename Call>
std::unique_ptr<DnnlKernel> make_in_parts(const Conv2dProblem& problem, ConvolutionEngine engine,
                                          std::size_t parts, std::size_t weight,
                                          const Describe& describe, const Call& call) {
  struct Described {
    ImagePart images;
    decltype(describe(problem)) descriptor;
  };
  auto kernel = std::make_unique<DnnlKernel>();
  const auto stored = kernel->input(weight, stored_weight(problem));
  const std::int64_t all = rounds_of(problem, engine, parts);
  std::vector<std::vector<Described>> split;
  for (const RowRange& rounds : row_parts({0, all}, parts)) {
    split.emplace_back();
    for (const ImagePart& images : image_rounds(problem, all, rounds)) {
      split.back().push_back({images, describe(images.problem)});
      if (!split.back().back().descriptor) return nullptr;
      kernel->reordered(stored, split.back().back().descriptor.weights_desc());
    }
  }
  for (const std::vector<Described>& part : split) {
    kernel->begin_part();
    for (const auto& [images, descriptor] : part) {
      kernel->begin_rounds(images.rounds);
      call(*kernel, images, descriptor, kernel->reordered(stored, descriptor.weights_desc()));
    }
  }
  return kernel;
}

std::unique_ptr<DnnlKernel> make_forward(const Conv2dProblem& problem, ConvolutionEngine engine,
                                         std::size_t parts) {
  const auto describe_part = [&](const Conv2dProblem& part) { return describe(part, engine); };
  const auto call = [](DnnlKernel& kernel, const ImagePart& part, const auto& descriptor,
                       DnnlKernel::Operand weight) {
    const memory::desc plain = dnnl_layout(part.problem.y);
    const auto x = kernel.input(0, dnnl_layout(part.problem.x), part.x);
    const auto y = kernel.output_as(0, plain, descriptor.dst_desc(), part.y);
    std::unordered_map<int, DnnlKernel::Operand> arguments = {
        {DNNL_ARG_WEIGHTS, weight},
        {DNNL_ARG_SRC, kernel.reordered(x, descriptor.src_desc())},
        {DNNL_ARG_DST, y}};
    if (part.problem.bias) arguments[DNNL_ARG_BIAS] = kernel.input(2, descriptor.bias_desc());
    kernel.call(descriptor, arguments);
    kernel.finish_output(y, 0, plain, part.y);
  };
  return make_in_parts(problem, engine, parts, 1, describe_part, call);
}

std::unique_ptr<DnnlKernel> make_grad_input(const Conv2dProblem& problem, ConvolutionEngine engine,
                                            std::size_t parts) {
  const auto describe_part = [&](const Conv2dProblem& part) {
    return describe_grad_input(part, engine);
  };
  const auto call = [](DnnlKernel& kernel, const ImagePart& part, const auto& descriptor,
                       DnnlKernel::Operand weight) {
    const memory::desc plain = dnnl_layout(part.problem.x);
    const auto grad_y = kernel.input(1, dnnl_layout(part.problem.y), part.y);
    const auto grad_x = kernel.output_as(0, plain, descriptor.diff_src_desc(), part.x);
    kernel.call(descriptor,
                {{DNNL_ARG_WEIGHTS, weight},
                 {DNNL_ARG_DIFF_DST, kernel.reordered(grad_y, descriptor.diff_dst_desc())},
                 {DNNL_ARG_DIFF_SRC, grad_x}});
    kernel.finish_output(grad_x, 0, plain, part.x);
  };
  return make_in_parts(problem, engine, parts, 0, describe_part, call);
}

// Adds the gradient of the weight over some images to the outputs, or writes it.
bool call_grad_weight(DnnlKernel& kernel, const ImagePart& part, ConvolutionEngine engine,
                      bool adds) {
  const auto descriptor = describe_grad_weight(part.problem, engine);
  if (!descriptor) return false;
  kernel.begin_rounds(part.rounds);
  const auto x = kernel.input(0, dnnl_layout(part.problem.x), part.x);
  const auto grad_y = kernel.input(1, dnnl_layout(part.problem.y), part.y);
  const auto begin = [&](std::size_t index, const memory::desc& plain, const memory::desc& layout) {
    return adds ? kernel.scratch(layout) : kernel.output_as(index, plain, layout);
  };
  const auto finish = [&](DnnlKernel::Operand result, std::size_t index,
                          const memory::desc& plain) {
    if (adds) return kernel.add_to_output(result, index, plain);
    kernel.finish_output(result, index, plain);
  };
  const memory::desc weight = stored_weight(part.problem);
  const memory::desc bias = dnnl_layout(part.problem.bias_shape());
  const auto grad_weight = begin(0, weight, descriptor.diff_weights_desc());
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel.reordered(x, descriptor.src_desc())},
      {DNNL_ARG_DIFF_DST, kernel.reordered(grad_y, descriptor.diff_dst_desc())},
      {DNNL_ARG_DIFF_WEIGHTS, grad_weight}};
  if (part.problem.bias) arguments[DNNL_ARG_DIFF_BIAS] = begin(1, bias, bias);
  kernel.call(descriptor, arguments);
  finish(grad_weight, 0, weight);
  if (part.problem.bias) finish(arguments[DNNL_ARG_DIFF_BIAS], 1, bias);
  return true;
}

// The first round writes the gradient, the others add to it.
std::unique_ptr<DnnlKernel> make_grad_weight(const Conv2dProblem& problem,
                                             ConvolutionEngine engine) {
  auto kernel = std::make_unique<DnnlKernel>();
  const std::int64_t all = rounds_of(problem, engine, 1);
  for (const RowRange& rounds : {RowRange{0, 1}, RowRange{1, all - 1}}) {
    for (const ImagePart& images : image_rounds(problem, all, rounds)) {
      if (!call_grad_weight(*kernel, images, engine, rounds.first > 0)) return nullptr;
    }
  }
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
    const std::size_t x_at = part.x.offset_bytes, y_at = part.y.offset_bytes;
    if (kind == ConvolutionKind::kForward) {
      call_product(kernel, {0, x, x_at}, {1, transposed(of.weight)}, {0, y, y_at},
                   problem.bias ? &bias : nullptr, finish_of(problem));
    } else {
      call_product(kernel, {1, y, y_at}, {0, weight}, {0, x, x_at}, nullptr,
                   dnnl_user_scratchpad());
    }
  };
  const RowRange images{0, problem.x[0]};
  return make_row_products({&images, 1}, parts, call);
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
