#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"

namespace skyline {

// Makes a parameter: a resident tensor filled from `host` and, in training mode, its leaf node and
// (without fused_update) its resident gradient.
Parameter make_parameter(Context& context, const TensorSpec& spec, std::string name,
                         const void* host);

// Returns the tensor with a leaf node called `name`, so that backward computes its gradient
// although it is no parameter: that of an image says how much the loss depends on each pixel
// (Simonyan, Vedaldi, Zisserman 2013, saliency maps). BackwardGraph::run() returns it to those who
// want it. Without training mode, returns the tensor itself.
Tensor require_gradient(const Context& context, const Tensor& tensor, std::string name);

// Applies an op in the forward pass and returns all its outputs. In training mode, if an input
// requires a gradient, leaves a node that holds only what the op's gradient calls read, or how to
// recompute it (see Context::Options::recompute). Outside all layer scopes the op belongs to the
// layer that made its first input.
// Output j is written to destinations[j] if that is set.
std::vector<Tensor> apply(Context& context, std::shared_ptr<const Op> op,
                          std::vector<Tensor> inputs, std::span<const Tensor> destinations = {});

// Runs one forward op, `fused`, instead of a chain of ops: parts[0] on `inputs`, each further part
// on the output of the part before, which is never made. `fused` and every part have one output;
// the gradients are those of the parts. A gradient of the first part may read `inputs`, one of the
// last part the chain's output; none may read a tensor between two parts. conv2d and relu make such
// a chain, because relu's gradient reads its output. Under Emulation::chainer_ops the parts run.
Tensor apply_fused(Context& context, const std::shared_ptr<const Op>& fused,
                   std::span<const std::shared_ptr<const Op>> parts, std::vector<Tensor> inputs);

// A layer that makes images of images, each of its own image alone, see chain().
struct Link {
  std::shared_ptr<const Op> op;                       // input 0: the images; output 0: the result
  std::vector<Tensor> operands = {};                  // its other inputs
  std::vector<std::shared_ptr<const Op>> parts = {};  // as in apply_fused(); empty: the op itself
  // Makes output 0 alone, with the same bits, where no gradient is needed. Null: the op.
  std::shared_ptr<const Op> bare = {};
  std::string layer = {};  // under which the ops run
};

// Applies the link to x.
Tensor apply(Context& context, Link link, Tensor x);

}  // namespace skyline
