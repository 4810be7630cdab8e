// Convolutions and fully connected layers without a framework around them.
#include "framework/ops/support/dnnl_kernel.h"
#include "tests/benchmarks/bare/bare_primitives.h"
#include "tests/benchmarks/framework/op_parameters.h"

namespace skyline {
namespace {

using dnnl::memory;
using Use = BareMemory::Use;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// The convolution of an op or its gradient op: images channels-last, weights in the library's
// preferred layout.
struct Convolution {
  Convolution(const ExecutedOp& op, const Shape& x_shape, const Shape& weight_shape,
              const Shape& y_shape, bool has_bias)
      : x(dnnl_layout(x_shape)),
        weight(dnnl_any_layout(weight_shape)),
        bias(dnnl_layout({weight_shape[0]})),
        y(dnnl_layout(y_shape)),
        with_bias(has_bias) {
    const OpParameters parameters(op.parameters);
    strides = parameters.size("stride");
    padding = parameters.size("padding");
    relu = parameters.flag("relu");
  }

  dnnl::convolution_forward::primitive_desc forward() const {
    using Description = dnnl::convolution_forward::desc;
    const auto kind = dnnl::prop_kind::forward_training;
    const Description description =
        with_bias ? Description(kind, kDirect, x, weight, bias, y, strides, padding, padding)
                  : Description(kind, kDirect, x, weight, y, strides, padding, padding);
    dnnl::primitive_attr attributes;
    if (relu) {
      dnnl::post_ops post_ops;
      post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      attributes.set_post_ops(post_ops);
    }
    return {description, attributes, dnnl_engine()};
  }
  dnnl::convolution_backward_data::primitive_desc grad_input() const {
    return {{kDirect, x, weight, y, strides, padding, padding}, dnnl_engine(), forward()};
  }
  dnnl::convolution_backward_weights::primitive_desc grad_weight() const {
    using Description = dnnl::convolution_backward_weights::desc;
    const Description description =
        with_bias ? Description(kDirect, x, weight, bias, y, strides, padding, padding)
                  : Description(kDirect, x, weight, y, strides, padding, padding);
    return {description, dnnl_engine(), forward()};
  }

  memory::desc x, weight, bias, y;
  memory::dims strides, padding;
  bool with_bias;
  bool relu = false;
};

const Shape& shape_of(const Operand& operand) { return operand.spec.shape; }

void add_forward(BareBuilder& builder) {
  const auto &inputs = builder.op().inputs, &outputs = builder.op().outputs;
  const bool bias = inputs.size() == 3;
  const Convolution convolution(builder.op(), shape_of(inputs[0]), shape_of(inputs[1]),
                                shape_of(outputs[0]), bias);
  const auto descriptor = convolution.forward();
  const memory::desc plain = dnnl_layout(shape_of(inputs[1]));
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, builder.input(0)},
      {DNNL_ARG_WEIGHTS,
       builder.weight(inputs[1], plain, descriptor.weights_desc(), Use::kForward)},
      {DNNL_ARG_DST, builder.output(0)}};
  if (bias) arguments[DNNL_ARG_BIAS] = builder.input(2);
  builder.call(descriptor, std::move(arguments));
}

void add_grad_input(BareBuilder& builder) {
  const auto &inputs = builder.op().inputs, &outputs = builder.op().outputs;
  const Convolution convolution(builder.op(), shape_of(outputs[0]), shape_of(inputs[0]),
                                shape_of(inputs[1]), false);
  const auto descriptor = convolution.grad_input();
  const memory::desc plain = dnnl_layout(shape_of(inputs[0]));
  const memory weight = builder.weight(inputs[0], plain, descriptor.weights_desc(), Use::kBackward);
  builder.call(descriptor, {{DNNL_ARG_WEIGHTS, weight},
                            {DNNL_ARG_DIFF_DST, builder.input(1)},
                            {DNNL_ARG_DIFF_SRC, builder.output(0)}});
}

void add_grad_weight(BareBuilder& builder) {
  const auto &inputs = builder.op().inputs, &outputs = builder.op().outputs;
  const bool bias = outputs.size() == 2;
  const Convolution convolution(builder.op(), shape_of(inputs[0]), shape_of(outputs[0]),
                                shape_of(inputs[1]), bias);
  const auto descriptor = convolution.grad_weight();
  const memory gradient = builder.gradient(outputs[0], descriptor.diff_weights_desc());
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, builder.input(0)},
                                               {DNNL_ARG_DIFF_DST, builder.input(1)},
                                               {DNNL_ARG_DIFF_WEIGHTS, gradient}};
  if (bias) arguments[DNNL_ARG_DIFF_BIAS] = builder.output(1);
  builder.call(descriptor, std::move(arguments));
  builder.finish_gradient(outputs[0], gradient);
}

// [rows, columns] in the library's preferred layout.
memory::desc any(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, memory::data_type::f32, memory::format_tag::any};
}

// A [rows, columns] matrix that is stored as its transpose.
memory::desc transposed(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, memory::data_type::f32, memory::format_tag::ba};
}

void add_product(BareBuilder& builder) {
  const auto& inputs = builder.op().inputs;
  const Shape &x = shape_of(inputs[0]), &weight = shape_of(inputs[1]);
  const memory::desc y = dnnl_layout(shape_of(builder.op().outputs[0]));
  const memory::desc best = any(weight[1], weight[0]), bias = dnnl_layout({1, weight[0]});
  using Description = dnnl::matmul::desc;
  const dnnl::matmul::primitive_desc descriptor(inputs.size() == 3
                                                    ? Description(dnnl_layout(x), best, bias, y)
                                                    : Description(dnnl_layout(x), best, y),
                                                dnnl_engine());
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, builder.input(0)},
      {DNNL_ARG_WEIGHTS, builder.weight(inputs[1], transposed(weight[1], weight[0]),
                                        descriptor.weights_desc(), Use::kForward)},
      {DNNL_ARG_DST, builder.output(0)}};
  if (inputs.size() == 3) arguments[DNNL_ARG_BIAS] = builder.memory().tensor(inputs[2], bias);
  builder.call(descriptor, std::move(arguments));
}

void add_product_grad_input(BareBuilder& builder) {
  const auto& inputs = builder.op().inputs;
  const Shape& weight = shape_of(inputs[0]);
  const dnnl::matmul::primitive_desc descriptor(
      {dnnl_layout(shape_of(inputs[1])), any(weight[0], weight[1]),
       dnnl_layout(shape_of(builder.op().outputs[0]))},
      dnnl_engine());
  const memory best =
      builder.weight(inputs[0], dnnl_layout(weight), descriptor.weights_desc(), Use::kBackward);
  builder.call(descriptor, {{DNNL_ARG_SRC, builder.input(1)},
                            {DNNL_ARG_WEIGHTS, best},
                            {DNNL_ARG_DST, builder.output(0)}});
}

void add_product_grad_weight(BareBuilder& builder) {
  const auto &inputs = builder.op().inputs, &outputs = builder.op().outputs;
  const Shape &x = shape_of(inputs[0]), &y = shape_of(inputs[1]);
  const memory::desc y_transposed = transposed(y[1], y[0]);
  const dnnl::matmul::primitive_desc descriptor(
      {y_transposed, dnnl_layout(x), dnnl_layout(shape_of(outputs[0]))}, dnnl_engine());
  builder.call(descriptor, {{DNNL_ARG_SRC, builder.memory().tensor(inputs[1], y_transposed)},
                            {DNNL_ARG_WEIGHTS, builder.input(0)},
                            {DNNL_ARG_DST, builder.output(0)}});
  if (outputs.size() == 1) return;
  const memory::desc row = dnnl_layout({1, y[1]});
  const dnnl::reduction::primitive_desc sum(
      {dnnl::algorithm::reduction_sum, dnnl_layout(y), row, 0.0f, 0.0f}, dnnl_engine());
  builder.call(sum, {{DNNL_ARG_SRC, builder.input(1)}, {DNNL_ARG_DST, builder.output(1, row)}});
}

}  // namespace

void add_convolution(BareBuilder& builder) {
  const std::string& name = builder.op().name;
  if (name == "conv2d") add_forward(builder);
  if (name == "conv2d_grad_input") add_grad_input(builder);
  if (name == "conv2d_grad_weight") add_grad_weight(builder);
}

void add_linear(BareBuilder& builder) {
  const std::string& name = builder.op().name;
  if (name == "linear") add_product(builder);
  if (name == "linear_grad_input") add_product_grad_input(builder);
  if (name == "linear_grad_weight") add_product_grad_weight(builder);
}

}  // namespace skyline
