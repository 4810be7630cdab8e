// Normalization and pooling without a framework around them.
#include "framework/ops/support/dnnl_kernel.h"
#include "tests/benchmarks/bare/bare_primitives.h"
#include "tests/benchmarks/framework/op_parameters.h"

namespace skyline {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;

memory::desc layout_of(const Operand& operand) { return dnnl_layout(operand.spec.shape); }

struct BatchNorm {
  BatchNorm(const ExecutedOp& op) : x(layout_of(op.inputs[0])) {
    const OpParameters parameters(op.parameters);
    epsilon = parameters.number("epsilon");
    shortcut = parameters.flag("shortcut");
    projection = parameters.flag("projection");
    relu = parameters.flag("relu") && !shortcut;
    if (relu) flags |= normalization_flags::fuse_norm_relu;
  }
  dnnl::batch_normalization_forward::primitive_desc forward() const {
    return {{dnnl::prop_kind::forward_training, x, epsilon, flags}, dnnl_engine()};
  }

  memory::desc x;
  float epsilon;
  bool relu, shortcut, projection;
  normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
};

// The elements that relu passed, kept from forward to backward.
memory mask(BareBuilder& builder, const dnnl::primitive_desc& descriptor) {
  return builder.memory().kept("mask of " + builder.op().layer, descriptor.workspace_desc());
}

// Blends the mean and the variance, outputs `statistics` and the next, into the running ones, which
// are `blended` and the next.
void add_update(BareBuilder& builder, std::size_t statistics, std::size_t blended) {
  constexpr float kDecay = 0.9f;
  const std::int64_t channels = builder.op().inputs[1].spec.shape[0];
  for (const std::size_t i : {0u, 1u}) {
    auto* running = static_cast<float*>(builder.output(blended + i).get_data_handle());
    const auto* batch = static_cast<const float*>(builder.output(statistics + i).get_data_handle());
    builder.call([=] {
      for (std::int64_t c = 0; c < channels; ++c) {
        running[c] = kDecay * running[c] + (1 - kDecay) * batch[c];
      }
    });
  }
}

// Normalizes input `x`, behind which gamma and beta come.
void add_normalization(BareBuilder& builder, const BatchNorm& batch_norm, std::size_t x,
                       const memory& y, std::size_t mean) {
  const auto descriptor = batch_norm.forward();
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, builder.input(x)},       {DNNL_ARG_SCALE, builder.input(x + 1)},
      {DNNL_ARG_SHIFT, builder.input(x + 2)}, {DNNL_ARG_DST, y},
      {DNNL_ARG_MEAN, builder.output(mean)},  {DNNL_ARG_VARIANCE, builder.output(mean + 1)}};
  if (batch_norm.relu) {
    arguments[DNNL_ARG_WORKSPACE] = mask(builder, descriptor);
  }
  builder.call(descriptor, std::move(arguments));
}

void add_forward(BareBuilder& builder) {
  const BatchNorm batch_norm(builder.op());
  const memory y = builder.output(0);
  add_normalization(builder, batch_norm, 0, y, 1);
  memory added = batch_norm.shortcut ? builder.input(3) : memory();
  if (batch_norm.projection) {
    added = builder.memory().kept("normalized shortcut of " + builder.op().layer, batch_norm.x);
    add_normalization(builder, batch_norm, 3, added, 3);
  }
  if (batch_norm.shortcut) {
    const OpParameters parameters(builder.op().parameters);
    add_addition(builder, added, y, y, 1, parameters.flag("relu"));
  }
  const std::size_t statistics = batch_norm.projection ? 5 : 3;
  if (builder.op().outputs.size() == statistics) return;
  add_update(builder, 1, statistics);
  if (batch_norm.projection) add_update(builder, 3, statistics + 2);
}

// The gradients of input `x`, behind which gamma, mean and variance come, and of gamma and beta,
// from output `grad_x` on.
void add_gradients(BareBuilder& builder, const BatchNorm& batch_norm, std::size_t x,
                   const memory& gradient, std::size_t grad_x) {
  const dnnl::batch_normalization_backward::primitive_desc descriptor(
      {dnnl::prop_kind::backward, batch_norm.x, batch_norm.x, batch_norm.epsilon, batch_norm.flags},
      dnnl_engine(), batch_norm.forward());
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, builder.input(x)},
                                               {DNNL_ARG_SCALE, builder.input(x + 1)},
                                               {DNNL_ARG_SHIFT, builder.input(x + 1)},
                                               {DNNL_ARG_MEAN, builder.input(x + 2)},
                                               {DNNL_ARG_VARIANCE, builder.input(x + 3)},
                                               {DNNL_ARG_DIFF_DST, gradient},
                                               {DNNL_ARG_DIFF_SRC, builder.output(grad_x)},
                                               {DNNL_ARG_DIFF_SCALE, builder.output(grad_x + 1)},
                                               {DNNL_ARG_DIFF_SHIFT, builder.output(grad_x + 2)}};
  if (batch_norm.relu) {
    arguments[DNNL_ARG_WORKSPACE] = mask(builder, descriptor);
  }
  builder.call(descriptor, std::move(arguments));
}

// Inputs x, gamma, mean, variance, grad_output; behind a shortcut also y, what a projection has and
// perhaps the second part of grad_output, and output 3 is what the relu passed.
void add_grad(BareBuilder& builder) {
  const BatchNorm batch_norm(builder.op());
  memory gradient = builder.input(4);
  if (batch_norm.shortcut) {
    const memory passed = builder.output(3);
    const std::size_t second = batch_norm.projection ? 10 : 6;
    if (builder.op().inputs.size() > second) {
      add_addition(builder, gradient, builder.input(second), passed, 1, false);
      gradient = passed;
    }
    add_relu_grad(builder, gradient, builder.input(5), passed);
    gradient = passed;
  }
  add_gradients(builder, batch_norm, 0, gradient, 0);
  if (batch_norm.projection) add_gradients(builder, batch_norm, 6, gradient, 3);
}

dnnl::lrn_forward::primitive_desc response_norm(const ExecutedOp& op) {
  const OpParameters parameters(op.parameters);
  const float size = parameters.number("size");
  // The library divides alpha by the window's size.
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::lrn_across_channels,
           layout_of(op.inputs[0]), static_cast<memory::dim>(size),
           parameters.number("alpha") * size, parameters.number("beta"), parameters.number("k")},
          dnnl_engine()};
}

// Windows as oneDNN expects them: the padding at the far edge is what the last one needs.
struct Windows {
  Windows(const ExecutedOp& op, const Shape& x, const Shape& y) {
    const OpParameters parameters(op.parameters);
    kernel = parameters.size("kernel");
    strides = parameters.size("stride");
    padding = parameters.size("padding");
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int of_tensor = static_cast<int>(axis) + 2;
      far_padding.push_back((y[of_tensor] - 1) * strides[axis] + kernel[axis] - x[of_tensor] -
                            padding[axis]);
    }
  }
  memory::dims kernel, strides, padding, far_padding;
};

}  // namespace

void add_batch_norm(BareBuilder& builder) {
  const std::string& name = builder.op().name;
  if (name == "batch_norm") add_forward(builder);
  if (name.starts_with("batch_norm_grad")) add_grad(builder);
}

void add_response_norm(BareBuilder& builder) {
  const ExecutedOp& op = builder.op();
  const auto forward = response_norm(op);
  const memory workspace = builder.memory().kept(op.layer, forward.workspace_desc());
  if (op.name == "local_response_norm") {
    builder.call(forward, {{DNNL_ARG_SRC, builder.input(0)},
                           {DNNL_ARG_DST, builder.output(0)},
                           {DNNL_ARG_WORKSPACE, workspace}});
    return;
  }
  const OpParameters parameters(op.parameters);
  const float size = parameters.number("size");
  const memory::desc x = layout_of(op.inputs[0]);
  const dnnl::lrn_backward::primitive_desc backward(
      {dnnl::algorithm::lrn_across_channels, x, x, static_cast<memory::dim>(size),
       parameters.number("alpha") * size, parameters.number("beta"), parameters.number("k")},
      dnnl_engine(), forward);
  builder.call(backward, {{DNNL_ARG_SRC, builder.input(0)},
                          {DNNL_ARG_DIFF_DST, builder.input(1)},
                          {DNNL_ARG_DIFF_SRC, builder.output(0)},
                          {DNNL_ARG_WORKSPACE, workspace}});
}

void add_pooling(BareBuilder& builder) {
  const ExecutedOp& op = builder.op();
  const bool is_max = op.name.starts_with("max"), is_grad = op.name.ends_with("_grad");
  const Shape& x = (is_grad ? op.outputs[0] : op.inputs[0]).spec.shape;
  const Shape& y = (is_grad ? op.inputs[is_max ? 1 : 0] : op.outputs[0]).spec.shape;
  const auto algorithm =
      is_max ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding;
  const Windows windows(op, x, y);
  const dnnl::pooling_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, dnnl_layout(x), dnnl_layout(y),
       windows.strides, windows.kernel, windows.padding, windows.far_padding},
      dnnl_engine());
  std::unordered_map<int, memory> arguments;
  if (!is_grad) {
    arguments = {{DNNL_ARG_SRC, builder.input(0)}, {DNNL_ARG_DST, builder.output(0)}};
    if (is_max) arguments[DNNL_ARG_WORKSPACE] = builder.output(1, forward.workspace_desc());
    builder.call(forward, std::move(arguments));
    return;
  }
  const dnnl::pooling_backward::primitive_desc backward(
      {algorithm, dnnl_layout(x), dnnl_layout(y), windows.strides, windows.kernel, windows.padding,
       windows.far_padding},
      dnnl_engine(), forward);
  arguments = {{DNNL_ARG_DIFF_DST, builder.input(is_max ? 1 : 0)},
               {DNNL_ARG_DIFF_SRC, builder.output(0)}};
  if (is_max) {
    arguments[DNNL_ARG_WORKSPACE] = builder.memory().tensor(op.inputs[0], forward.workspace_desc());
  }
  builder.call(backward, std::move(arguments));
}

}  // namespace skyline
