#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/context.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {

// Returns a resident tensor as files hold it, with its elements in the order of its shape: images
// and filters turn from channels-last to N C H W, which other tools expect. Nothing is copied until
// the result is read; context and tensor outlive it.
StoredTensor stored(Context& context, const std::string& name, const Tensor& tensor);

// Overwrites a resident tensor, in pieces; the inverse of stored(). Throws ShapeError naming the
// tensor when dtype or shape differ.
void load(Context& context, const StoredTensor& from, const Tensor& to);

// Returns the SHA-256 of the tensors' concatenated bytes, in the order of memory.
std::string tensors_sha256(Context& context, std::span<const Tensor> tensors);

// Return the values of parameters or buffers.
std::vector<Tensor> values_of(std::span<const Parameter> parameters);
std::vector<Tensor> values_of(std::span<const Buffer> buffers);

}  // namespace skyline
