#pragma once

#include "framework/ops/normalization/batch_norm.h"
#include "layers/layer.h"

namespace skyline {

// Batch normalization of images with parameters gamma [C] (initially 1) and beta [C] (initially 0);
// the running mean (0) and variance (1) are buffers. Files call them weight, bias, running_mean and
// running_var, as PyTorch does.
class BatchNorm2d : public Layer {
 public:
  BatchNorm2d(Context& context, std::string_view name, int channels, BatchNormParams params = {});

  // x [N, C, H, W] to the same shape, with a shortcut of this shape added, which `projection`
  // normalizes first. Training mode uses the batch's statistics and updates the running ones;
  // inference mode uses the running ones, and so does training where gamma and beta are frozen.
  Tensor operator()(Context& context, Tensor x, Tensor shortcut = {},
                    const BatchNorm2d* projection = nullptr) const;

 private:
  BatchNormValues values() const;

  BatchNormParams params_;
};

}  // namespace skyline
