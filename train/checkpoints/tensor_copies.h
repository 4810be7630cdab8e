#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/context.h"
#include "layers/stored_weight.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {

// Returns a resident tensor as files hold it, with its elements in PyTorch's order: filters and
// weights of flattened images turn from channels-last to channels, rows, columns. Nothing is copied
// until the result is read; the context outlives it.
StoredTensor stored(Context& context, const StoredWeight& weight);

// True if a file's tensor has the dtype and shape of `weight`.
bool fits(const StoredTensor& tensor, const StoredWeight& weight);

// Overwrites a resident tensor, in pieces; the inverse of stored(). Throws ShapeError naming the
// tensor unless it fits.
void load(Context& context, const StoredTensor& from, const StoredWeight& to);

// Returns the SHA-256 of the tensors' concatenated bytes, in the order of memory.
std::string tensors_sha256(Context& context, std::span<const Tensor> tensors);

// Return the values of parameters or buffers.
std::vector<Tensor> values_of(std::span<const Parameter> parameters);
std::vector<Tensor> values_of(std::span<const Buffer> buffers);

}  // namespace skyline
