#include "train/checkpoints/tensor_copies.h"

#include <cstring>
#include <stdexcept>

#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return StoredType::kF32;
    case DType::kInt32:
      return StoredType::kI32;
    case DType::kUint8:
      return StoredType::kU8;
  }
  throw std::logic_error("[to_host] unknown dtype");
}

std::vector<std::int64_t> extents(const Shape& shape) {
  std::vector<std::int64_t> result;
  for (int axis = 0; axis < shape.rank(); ++axis) result.push_back(shape[axis]);
  return result;
}

// Calls visit(element, position) in the order n, c, h, w; `position` is in channels-last memory.
template <typename Visit>
void for_each_element(const Shape& shape, Visit visit) {
  const std::int64_t channels = shape[1], height = shape[2], width = shape[3];
  std::size_t element = 0;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t h = 0; h < height; ++h) {
        for (std::int64_t w = 0; w < width; ++w) {
          visit(element++, static_cast<std::size_t>(((n * height + h) * width + w) * channels + c));
        }
      }
    }
  }
}

std::vector<std::byte> memory_bytes(Context& context, const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.spec().bytes());
  context.download(tensor.detach(), bytes.data());
  return bytes;
}

}  // namespace

NamedTensor to_host(Context& context, const std::string& name, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  NamedTensor host{name, stored_type(tensor.spec().dtype), extents(shape),
                   memory_bytes(context, tensor)};
  if (shape.rank() != 4) return host;
  const std::vector<std::byte> memory = host.bytes;
  const std::size_t size = dtype_bytes(tensor.spec().dtype);
  for_each_element(shape, [&](std::size_t element, std::size_t position) {
    std::memcpy(&host.bytes[element * size], &memory[position * size], size);
  });
  return host;
}

void to_device(Context& context, const NamedTensor& host, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (host.dtype != stored_type(tensor.spec().dtype) || host.shape != extents(shape)) {
    std::string got(stored_type_name(host.dtype));
    for (const std::int64_t extent : host.shape) got += " " + std::to_string(extent);
    throw ShapeError("checkpoint", host.name, got, tensor.spec().str());
  }
  std::vector<std::byte> memory = host.bytes;
  if (shape.rank() == 4) {
    const std::size_t size = dtype_bytes(tensor.spec().dtype);
    for_each_element(shape, [&](std::size_t element, std::size_t position) {
      std::memcpy(&memory[position * size], &host.bytes[element * size], size);
    });
  }
  context.write(tensor, memory.data());
}

std::string tensors_sha256(Context& context, std::span<const Tensor> tensors) {
  Sha256 sha256;
  for (const Tensor& tensor : tensors) sha256.update(memory_bytes(context, tensor));
  return sha256.hex();
}

std::vector<Tensor> values_of(std::span<const Parameter> parameters) {
  std::vector<Tensor> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter.value);
  return values;
}

std::vector<Tensor> values_of(std::span<const Buffer> buffers) {
  std::vector<Tensor> values;
  for (const Buffer& buffer : buffers) values.push_back(buffer.value);
  return values;
}

}  // namespace skyline
