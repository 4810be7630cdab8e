#include "layers/normalization.h"

namespace skyline {

BatchNorm2d::BatchNorm2d(Context& context, std::string_view name, int channels,
                         BatchNormParams params)
    : Layer(name), params_(params) {
  add_parameter(context, {"gamma", "weight"}, {{channels}}, 1);
  add_parameter(context, {"beta", "bias"}, {{channels}}, 0);
  params_.frozen =
      context.training() && !parameter(0).requires_grad() && !parameter(1).requires_grad();
  add_buffer(context, {"running_mean"}, {{channels}}, 0);
  add_buffer(context, {"running_variance", "running_var"}, {{channels}}, 1);
  add_batch_counter("num_batches_tracked");
}

BatchNormValues BatchNorm2d::values() const {
  return {parameter(0), parameter(1), buffers()[0].value, buffers()[1].value, params_};
}

Tensor BatchNorm2d::operator()(Context& context, Tensor x, Tensor shortcut,
                               const BatchNorm2d* projection) const {
  const LayerScope scope(context, name());
  auto [gamma, beta, mean, variance, params] = values();
  const BatchNormValues of_shortcut = projection ? projection->values() : BatchNormValues{};
  return batch_norm(context, std::move(x), std::move(gamma), std::move(beta), std::move(mean),
                    std::move(variance), params, std::move(shortcut),
                    projection ? &of_shortcut : nullptr);
}

ConvBatchNorm::ConvBatchNorm(Context& context, std::string_view name, const Options& options)
    : Layer(name),
      conv_(context, name,
            {.in = options.in,
             .out = options.out,
             .kernel = options.kernel,
             .stride = options.stride,
             .padding = options.padding,
             .groups = options.groups,
             .bias = options.bias,
             .initializer = options.initializer}),
      bn_(make_bn(context, options)) {
  own_as(options.stored.conv, conv_);
  own_as(options.stored.bn, bn_);
}

BatchNorm2d ConvBatchNorm::make_bn(Context& context, const Options& options) const {
  const LayerScope scope(context, name());
  return BatchNorm2d(context, "bn", options.out, options.normalization);
}

Tensor ConvBatchNorm::operator()(Context& context, Tensor x, Tensor shortcut,
                                 const ConvBatchNorm* projection) const {
  x = convolve(context, std::move(x));
  const LayerScope scope(context, name());
  return bn_(context, std::move(x), std::move(shortcut), projection ? &projection->bn_ : nullptr);
}

}  // namespace skyline
