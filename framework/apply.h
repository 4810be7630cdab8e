#pragma once

#include <memory>
#include <span>
#include <vector>

#include "framework/context.h"

namespace skyline {

// Applies an op in the forward pass: runs it and, in training mode and when an input requires a
// gradient, leaves a node that holds only what the op's gradient calls read, or how to make it
// again (see Context::Options::recompute). Returns all outputs. Outside of all layer scopes the op
// counts to the layer that made its first input.
std::vector<Tensor> apply(Context& context, std::shared_ptr<const Op> op,
                          std::vector<Tensor> inputs);

// One forward op, `fused`, in the place of a chain: parts[0] of `inputs`, and each further part of
// the output of the part before, which is never made. `fused` and every part have one output; the
// gradients are those of the parts. A part's gradient may read `inputs` (the first part's) and the
// chain's output (the last part's), but nothing between two parts: a relu reads its output, so
// conv2d and relu make such a chain.
Tensor apply_fused(Context& context, const std::shared_ptr<const Op>& fused,
                   std::span<const std::shared_ptr<const Op>> parts, std::vector<Tensor> inputs);

// Builds the backward graph of a scalar `loss` and runs it; the gradients land in the parameters'
// gradient tensors (overwritten, not added to). Consumes the forward graph. Throws std::logic_error
// under fused_update, where BackwardGraph::run takes an update.
// See backward_graph.h for printing, exporting or simulating it before it runs.
void backward(Context& context, Tensor loss);

}  // namespace skyline
