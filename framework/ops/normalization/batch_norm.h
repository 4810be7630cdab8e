#pragma once

#include <limits>
#include <memory>
#include <string_view>

#include "framework/apply.h"

namespace skyline {

struct BatchNormParams {
  float epsilon = 2e-5f;
  float decay = 0.9f;  // of the running values
  bool relu = false;   // returns min(max(·, 0), relu_limit), computed in the same pass
  float relu_limit = std::numeric_limits<float>::infinity();
  bool frozen = false;  // training, too, uses the running values and leaves them
  // batch_norm() sets them: the op adds a shortcut before the relu, and normalizes it first.
  bool shortcut = false;
  bool projection = false;
};

// One batch normalization but its images, as of a projection's branch.
struct BatchNormValues {
  Tensor gamma, beta, running_mean, running_variance;
  BatchNormParams params = {};
};

// Batch normalization over N, H and W (Ioffe and Szegedy 2015, algorithm 1):
// y = gamma (x - mean) / sqrt(variance + epsilon) + beta.
//
//   x                                             [N, C, H, W]
//   gamma, beta, running_mean, running_variance   [C]
//   shortcut                                      [N, C, H, W] or none
//   projection                                    normalizes the shortcut, or null
//   returns                                       [N, C, H, W]
//
// In training mode mean and (biased) variance are the batch's. The op also writes running = decay
// running + (1 - decay) batch over the running tensors, with the unbiased variance: m / (m - 1)
// times the biased one, m = N H W (1 if m is 1). Of the batches of a step only the first does so:
// batches that are computed at the same time, by several processes, have no sequence in which they
// could update one value, and the first is the same for all. In inference mode, or frozen, mean and
// variance are the running ones; the op may write over x. Frozen, gamma and beta have no gradient,
// and it retains gamma, the variance and, with relu, y. Otherwise it retains x, gamma, mean and
// variance, with relu beta too. Neither the result nor a mask is retained, because backward can
// tell from x what the relu passed (Rota Bulò, Porzi, Kontschieder 2018, "In-place activated batch
// norm", go further and drop x). Workspace: 16 C bytes for each 1024 pixels and up to 12 C more, on
// CUDA at most 1.25 MiB and 8 C bytes.
//
// A shortcut (He et al. 2016) is added in the same pass, before the relu, with the bits of
// add_scaled(shortcut, batch_norm(…)); the op may write over it. Then it retains, with relu, y
// instead of beta, and one op computes all gradients: grad_shortcut, which is grad_output where the
// relu passed (over grad_output), and grad_x (over y). If grad_output is a sum of two, that op adds
// them. A frozen op and one under Emulation::chainer_ops leave the shortcut to add_scaled().
//
// A projection's branch is normalized in these passes, too, with the bits of batch_norm(shortcut,
// projection), if there is a relu and both have one epsilon and decay: the normalized shortcut is
// never written. Then the op retains the shortcut and its gamma, mean and variance, too.
//
// Throws ShapeError on a wrong rank, unequal channels or another shape of the shortcut,
// std::invalid_argument if a limited relu meets a shortcut.
Tensor batch_norm(Context& context, Tensor x, Tensor gamma, Tensor beta, Tensor running_mean,
                  Tensor running_variance, BatchNormParams params = {}, Tensor shortcut = {},
                  const BatchNormValues* projection = nullptr);

inline constexpr std::string_view kBatchNorm = "batch_norm";  // the op's name in training
inline constexpr std::string_view kBatchNormGrad = "batch_norm_grad";
inline constexpr std::string_view kBatchNormGradOfSum = "batch_norm_grad_of_sum";

// True if a recorded op normalizes its shortcut, too, or is the gradient of one that did.
bool normalizes_shortcut(const StepGraph& graph, const StepOp& op);

// The ops that batch_norm() applies. Training: inputs x, gamma, beta, with params.shortcut the
// shortcut, with params.projection its gamma and beta, and, to update them, the running means and
// variances; outputs y, mean, variance, with params.projection those of the shortcut, and the new
// running values.
std::shared_ptr<const Op> batch_norm_op(BatchNormParams params = {});
// Inference: inputs x, gamma, beta, running_mean, running_variance, the shortcut and the same four
// of its projection; output y.
std::shared_ptr<const Op> batch_norm_inference_op(BatchNormParams params = {});

}  // namespace skyline
