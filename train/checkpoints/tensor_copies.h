#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"
#include "layers/stored_weight.h"
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

// The bytes of a tensor in the order of memory, wherever they lie.
struct TensorBytes {
  std::function<void(std::uint64_t offset, std::span<std::byte> piece)> read;
  std::function<void(std::uint64_t offset, std::span<const std::byte> piece)> write;
};

// The bytes of a resident tensor; none move in a dry run. The context outlives them.
TensorBytes bytes_of(Context& context, const Tensor& tensor);

// Returns a tensor like `weight` as files hold it, with its elements in PyTorch's order: filters
// and weights of flattened images turn from channels-last to channels, rows, columns, and matrices
// that files have transposed are turned whole, on the host. Nothing is copied until the result is
// read, piece after piece.
StoredTensor stored(const StoredWeight& weight, const TensorBytes& bytes);
// The same of a resident tensor; the context outlives the result.
StoredTensor stored(Context& context, const StoredWeight& weight);

// True if a file's tensor has the dtype and shape of `weight`.
bool fits(const StoredTensor& tensor, const StoredWeight& weight);

// Overwrites a tensor like `to`, in pieces; the inverse of stored(). Throws ShapeError naming the
// tensor unless it fits.
void load(const StoredTensor& from, const StoredWeight& to, const TensorBytes& bytes);
void load(Context& context, const StoredTensor& from, const StoredWeight& to);

// Returns the SHA-256 of the tensors' concatenated bytes, in the order of memory.
std::string tensors_sha256(Context& context, std::span<const Tensor> tensors);

// Return the values of parameters or buffers.
std::vector<Tensor> values_of(std::span<const Parameter> parameters);
std::vector<Tensor> values_of(std::span<const Buffer> buffers);

}  // namespace skyline
