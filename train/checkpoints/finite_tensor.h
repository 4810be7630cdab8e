#pragma once

#include <string>
#include <string_view>

#include "train/checkpoints/safetensors.h"

namespace skyline {

// A tensor of a file holds a NaN or an infinity: "weights.safetensors: tensor 'fc.bias': value 3 is
// nan".
class NotFiniteTensor : public SafetensorsError {
 public:
  using SafetensorsError::SafetensorsError;
};

// Returns the tensor with a check of everything that is read, if it is F32. Errors name `file`.
StoredTensor finite(StoredTensor tensor, std::string file);
std::vector<StoredTensor> finite(std::vector<StoredTensor> tensors, const std::string& file);

// Reads all tensors. Throws what reading them throws.
void read_through(const std::vector<StoredTensor>& tensors);

}  // namespace skyline
