#pragma once

#include "framework/ops/normalization/batch_norm.h"
#include "layers/layer.h"

namespace skyline {

// Batch normalization of images with gamma [C], 1 at first, beta [C], 0 at first, and the running
// mean (0) and variance (1) as buffers.
class BatchNorm2d : public Layer {
 public:
  BatchNorm2d(Context& context, std::string_view name, int channels, BatchNormParams params = {});

  // x [N, C, H, W] to the same shape: by the batch's statistics in training mode, which also moves
  // the running ones; by the running ones in inference mode.
  Tensor operator()(Context& context, Tensor x) const;

 private:
  BatchNormParams params_;
};

}  // namespace skyline
