#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {

// Copies a tensor to the host with its elements in the order of its shape: images and filters turn
// from channels-last to N C H W, which other tools expect in files.
NamedTensor to_host(Context& context, const std::string& name, const Tensor& tensor);

// Overwrites a resident tensor; the inverse of to_host(). Throws ShapeError naming the tensor when
// dtype or shape differ.
void to_device(Context& context, const NamedTensor& host, const Tensor& tensor);

// Returns the SHA-256 of the tensors' concatenated bytes.
std::string tensors_sha256(Context& context, std::span<const Tensor> tensors);

// Return the values of parameters or buffers.
std::vector<Tensor> values_of(std::span<const Parameter> parameters);
std::vector<Tensor> values_of(std::span<const Buffer> buffers);

}  // namespace skyline
