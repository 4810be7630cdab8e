#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {

// A copy on the host, elements in the order of the shape: images and filters turn from
// channels-last to N C H W, as other tools expect them in a file.
NamedTensor to_host(Context& context, const std::string& name, const Tensor& tensor);

// Overwrites a resident tensor; the inverse of to_host.
// Throws ShapeError naming the tensor when dtype or shape differ.
void to_device(Context& context, const NamedTensor& host, const Tensor& tensor);

// SHA-256 of the tensors' bytes, one after the other.
std::string tensors_sha256(Context& context, std::span<const Tensor> tensors);

// The values of parameters or buffers.
std::vector<Tensor> values_of(std::span<const Parameter> parameters);
std::vector<Tensor> values_of(std::span<const Buffer> buffers);

}  // namespace skyline
