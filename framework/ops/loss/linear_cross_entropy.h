#pragma once

#include <string_view>

#include "framework/ops/loss/softmax.h"

namespace skyline {

inline constexpr std::string_view kLinearCrossEntropy = "linear_cross_entropy";
// The op in backward that multiplies gradients made in forward by that of the loss.
inline constexpr std::string_view kScaleGradients = "scale_gradients";

// A fully connected layer, and the labels of the classes that it tells apart.
struct LossHead {
  Tensor x;                 // [N, F]
  Tensor weight;            // [K, F]
  Tensor bias = {};         // [K], or an empty Tensor for none
  Tensor labels;            // i32 [N]
  Tensor weights = {};      // of classes [K], or an empty Tensor: all are 1
  bool accumulate = false;  // as in BackwardOptions: the resident gradients hold those of batches
};

// Returns the loss that cross_entropy() has of linear(), by one op that never holds all logits
// [N, K]. It takes the rows in panels of 128 and makes for each panel, one after another, its
// logits, over them their probabilities and gradients, and from these the panel's rows of grad_x
// and its addition to grad_weight and grad_bias. So the gradients are made in forward, of a loss
// whose own gradient is 1; in backward, scale_gradients multiplies them where it is another. No
// probabilities are left, so who counts hits takes cross_entropy().
//
// It pays where a batch has many panels, as sentences of words do. The images of a batch fill one
// or two panels, whose logits are small beside their activations: networks of images keep their
// two ops.
//
// Retains the gradients: grad_x, which goes over x if nobody else needs that, and those of weight
// and bias. The latter two lie in the parameters' resident gradients, if those exist and nothing
// accumulates there; then this must be the first op of backward that adds to them. Else, with
// fused updates for example, they live from the loss to their readers. Workspace: the logits of a
// panel and packed operands of its products, on CUDA 8 N bytes more. Without gradients to make, the
// loss alone. Throws as linear() and cross_entropy() do.
Tensor linear_cross_entropy(Context& context, LossHead head,
                            const SoftmaxCrossEntropyParams& params = {});

// True if a panel's logits and grad_x together, which linear_cross_entropy() holds at once, take
// fewer bytes than all logits of x [N, F] and weight [K, F], which linear() and cross_entropy() do.
bool panels_save_bytes(const Shape& x, const Shape& weight);

}  // namespace skyline
