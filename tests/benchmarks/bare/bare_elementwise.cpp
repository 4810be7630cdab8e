// Elementwise ops, joins, the loss and the optimizer without a framework around them.
#include <algorithm>

#include "framework/ops/support/dnnl_kernel.h"
#include "tests/benchmarks/bare/bare_primitives.h"
#include "tests/benchmarks/framework/op_parameters.h"
#include "tests/benchmarks/train/timed_training.h"

namespace skyline {
namespace {

using dnnl::memory;

memory::desc layout_of(const Operand& operand) { return dnnl_layout(operand.spec.shape); }

dnnl::eltwise_forward::primitive_desc relu_forward(const memory::desc& layout) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::eltwise_relu_use_dst_for_bwd, layout,
           0.0f, 0.0f},
          dnnl_engine()};
}

void add_relu(BareBuilder& builder, const memory& from, const memory& to) {
  builder.call(relu_forward(to.get_desc()), {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
}

// to = factor * from.
void add_scaling(BareBuilder& builder, const memory& from, const memory& to, float factor) {
  const dnnl::eltwise_forward::primitive_desc descriptor(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_linear, to.get_desc(), factor,
       0.0f},
      dnnl_engine());
  builder.call(descriptor, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
}

// Inputs grad_output and, with relu, y; outputs the needed gradients of x and the residual.
void add_addition_grad(BareBuilder& builder) {
  const OpParameters parameters(builder.op().parameters);
  memory gradient = builder.input(0);
  const bool x = parameters.flag("x"), residual = parameters.flag("residual");
  if (parameters.flag("relu")) {
    add_relu_grad(builder, gradient, builder.input(1), builder.output(0));
    gradient = builder.output(0);
  }
  if (!residual) return;
  add_scaling(builder, gradient, builder.output(x ? 1 : 0), parameters.number("scale"));
}

void add_sum(BareBuilder& builder) {
  const std::size_t count = builder.op().inputs.size();
  std::vector<memory::desc> layouts;
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_DST, builder.output(0)}};
  for (std::size_t i = 0; i < count; ++i) {
    arguments[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i)] = builder.input(i);
    layouts.push_back(layout_of(builder.op().inputs[i]));
  }
  const std::vector<float> scales(count, 1.0f);
  builder.call(dnnl::sum::primitive_desc(layouts[0], scales, layouts, dnnl_engine()),
               std::move(arguments));
}

}  // namespace

void add_relu_grad(BareBuilder& builder, const memory& grad_output, const memory& y,
                   const memory& to) {
  const memory::desc layout = y.get_desc();
  const dnnl::eltwise_backward::primitive_desc descriptor(
      {dnnl::algorithm::eltwise_relu_use_dst_for_bwd, layout, layout, 0.0f, 0.0f}, dnnl_engine(),
      relu_forward(layout));
  builder.call(descriptor,
               {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, grad_output}, {DNNL_ARG_DIFF_SRC, to}});
}

void add_addition(BareBuilder& builder, const memory& x, const memory& residual, const memory& to,
                  float scale, bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scales(DNNL_ARG_SRC_1, 0, {scale});
  if (relu) {
    dnnl::post_ops post_ops;
    post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(post_ops);
  }
  const memory::desc layout = to.get_desc();
  const dnnl::binary::primitive_desc descriptor(
      {dnnl::algorithm::binary_add, layout, layout, layout}, attributes, dnnl_engine());
  builder.call(descriptor, {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, residual}, {DNNL_ARG_DST, to}});
}

void add_elementwise(BareBuilder& builder) {
  const std::string& name = builder.op().name;
  if (name == "relu") add_relu(builder, builder.input(0), builder.output(0));
  if (name == "relu_grad") {
    add_relu_grad(builder, builder.input(0), builder.input(1), builder.output(0));
  }
  if (name == "add" || name == "add_scaled") {
    const OpParameters parameters(builder.op().parameters);
    add_addition(builder, builder.input(0), builder.input(1), builder.output(0),
                 parameters.number("scale"), parameters.flag("relu"));
  }
  if (name == "add_scaled_grad") add_addition_grad(builder);
  if (name == "sum") add_sum(builder);
  // The library draws no random numbers; this measures reading and writing only.
  if (name.starts_with("dropout")) {
    add_scaling(builder, builder.input(0), builder.output(0), 1.0f);
  }
  if (name == "gradient_seed") {
    auto* first = static_cast<float*>(builder.output(0).get_data_handle());
    const std::int64_t count = builder.op().outputs[0].spec.shape.elements();
    builder.call([=] { std::fill_n(first, count, 1.0f); });
  }
}

void add_concat(BareBuilder& builder) {
  const ExecutedOp& op = builder.op();
  if (op.name == "concat") {
    std::vector<memory::desc> layouts;
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_DST, builder.output(0)}};
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      layouts.push_back(layout_of(op.inputs[i]));
      arguments[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i)] = builder.input(i);
    }
    builder.call(dnnl::concat::primitive_desc(layout_of(op.outputs[0]), 1, layouts, dnnl_engine()),
                 std::move(arguments));
    if (OpParameters(op.parameters).flag("relu")) {
      add_relu(builder, builder.output(0), builder.output(0));
    }
    return;
  }
  memory joined = builder.input(0);
  if (op.inputs.size() == 2) {  // the relu's result: its gradient comes first
    add_relu_grad(builder, joined, builder.input(1), joined);
  }
  memory::dim offset = 0;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const memory part = builder.output(i);
    const memory::dims extents = part.get_desc().dims();
    memory::dims first(extents.size(), 0);
    first[1] = offset;
    offset += extents[1];
    const memory slice(joined.get_desc().submemory_desc(extents, first), dnnl_engine(),
                       joined.get_data_handle());
    builder.call(dnnl::reorder::primitive_desc(slice, part),
                 {{DNNL_ARG_FROM, slice}, {DNNL_ARG_TO, part}});
  }
}

void add_loss(BareBuilder& builder) {
  const ExecutedOp& op = builder.op();
  if (op.name == "softmax_cross_entropy_grad") {
    const float factor = 1.0f / static_cast<float>(op.inputs[1].spec.shape[0]);
    add_scaling(builder, builder.input(1), builder.output(0), factor);
    return;
  }
  const dnnl::softmax_forward::primitive_desc descriptor(
      {dnnl::prop_kind::forward_training, layout_of(op.inputs[0]), 1}, dnnl_engine());
  builder.call(descriptor, {{DNNL_ARG_SRC, builder.input(0)}, {DNNL_ARG_DST, builder.output(1)}});
}

// Uses a learning rate of 0, so that the loop can repeat on the same numbers.
void add_optimizer(BareBuilder& builder) {
  const auto& inputs = builder.op().inputs;
  float* value = builder.memory().values(inputs[0], BareMemory::Use::kForward);
  const float* gradient = builder.memory().values(inputs[1], BareMemory::Use::kGradient);
  float* velocity = builder.memory().values(inputs[2], BareMemory::Use::kPlain);
  const std::int64_t count = inputs[0].spec.shape.elements();
  const float momentum = OptimizerOptions{}.momentum;
  builder.call([=] {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      velocity[i] = momentum * velocity[i] - 0.0f * gradient[i];
      value[i] += velocity[i];
    }
  });
}

}  // namespace skyline
