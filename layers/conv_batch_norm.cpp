#include "layers/conv_batch_norm.h"

namespace skyline {

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
