#include "train/checkpoints/tensor_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Returns the first value that is not finite. Pieces begin and end at whole values.
std::size_t first_not_finite(std::span<const std::byte> piece) {
  for (std::size_t i = 0; i < piece.size() / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, &piece[i * sizeof value], sizeof value);
    if (!std::isfinite(value)) return i;
  }
  return kNone;
}

}  // namespace

StoredTensor finite(StoredTensor tensor, std::string file) {
  if (tensor.dtype != StoredType::kF32) return tensor;
  tensor.read = [read = std::move(tensor.read), name = tensor.name, file = std::move(file)](
                    std::uint64_t offset, std::span<std::byte> piece) {
    read(offset, piece);
    const std::size_t found = first_not_finite(piece);
    if (found == kNone) return;
    float value = 0;
    std::memcpy(&value, &piece[found * sizeof value], sizeof value);
    throw NotFiniteTensor(file, fmt::format("tensor '{}': value {} is {}", name,
                                            offset / sizeof value + found, value));
  };
  return tensor;
}

std::vector<StoredTensor> finite(std::vector<StoredTensor> tensors, const std::string& file) {
  for (StoredTensor& tensor : tensors) tensor = finite(std::move(tensor), file);
  return tensors;
}

void read_through(const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors) {
    for_each_piece(tensor, [](std::uint64_t, std::span<const std::byte>) {});
  }
}

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
  throw std::logic_error("[stored] unknown dtype");
}

std::vector<std::int64_t> extents(const Shape& shape) {
  std::vector<std::int64_t> result;
  for (int axis = 0; axis < shape.rank(); ++axis) result.push_back(shape[axis]);
  return result;
}

// The two orders of a tensor's elements. Along its first axis, rows follow each other in memory as
// in files; within a row, memory has the channels of each pixel together, files the pixels of each
// channel. A matrix that files hold transposed is one row: its columns are the channels.
struct RowOrder {
  std::uint64_t channels = 1, pixels = 1;
  std::size_t element_bytes = 1;

  std::uint64_t row_bytes() const {
    return std::max<std::uint64_t>(channels * pixels, 1) * element_bytes;
  }
  bool same() const { return channels == 1 || pixels == 1; }

  // Copies whole rows from the order of memory to that of files, or back.
  void to_file(std::span<const std::byte> memory, std::span<std::byte> file) const {
    turn(memory, file, pixels, channels);
  }
  void to_memory(std::span<const std::byte> file, std::span<std::byte> memory) const {
    turn(file, memory, channels, pixels);
  }

 private:
  // Transposes each row, a matrix of `height` x `width` elements.
  void turn(std::span<const std::byte> from, std::span<std::byte> to, std::uint64_t height,
            std::uint64_t width) const {
    const auto rows = [&]<typename T>(T) {
      const auto* source = reinterpret_cast<const T*>(from.data());
      auto* target = reinterpret_cast<T*>(to.data());
      for (std::size_t row = 0; row < from.size() / row_bytes(); ++row) {
        for (std::uint64_t x = 0; x < width; ++x) {
          for (std::uint64_t y = 0; y < height; ++y) *target++ = source[y * width + x];
        }
        source += height * width;
      }
    };
    element_bytes == 4 ? rows(std::uint32_t{}) : rows(std::uint8_t{});
  }
};

RowOrder row_order(const StoredWeight& weight) {
  const TensorSpec& spec = weight.value.spec();
  RowOrder order{.element_bytes = dtype_bytes(spec.dtype)};
  if (spec.shape.rank() < 2 || spec.shape[0] == 0) return order;
  const std::int64_t row = spec.shape.elements() / (weight.transposed ? 1 : spec.shape[0]);
  const std::int64_t channels = weight.transposed ? spec.shape[1] : weight.channels;
  order.channels = static_cast<std::uint64_t>(channels);
  order.pixels = static_cast<std::uint64_t>(row / channels);
  return order;
}

void read_memory(Context& context, const Tensor& tensor, std::uint64_t offset,
                 std::span<std::byte> piece) {
  if (!context.executes()) return;
  context.compute().read(piece.data(), tensor.address() + offset, piece.size());
}

// Reads pieces in the order of files: turns all rows that a piece touches. A single row, of which
// each piece has a part, is turned once and kept until its last byte is read.
class TurnedReader {
 public:
  TurnedReader(TensorBytes bytes, const StoredWeight& weight)
      : bytes_(std::move(bytes)),
        order_(row_order(weight)),
        end_(weight.value.spec().bytes()),
        keeps_(weight.transposed) {}

  void read(std::uint64_t offset, std::span<std::byte> piece) {
    if (order_.same()) return bytes_.read(offset, piece);
    const std::uint64_t row = order_.row_bytes(), begin = offset / row * row;
    const std::uint64_t end = (offset + piece.size() + row - 1) / row * row;
    if (rows_.empty() || !keeps_ || offset == 0) {
      std::vector<std::byte> memory(end - begin);
      rows_.resize(end - begin);
      bytes_.read(begin, memory);
      order_.to_file(memory, rows_);
    }
    std::memcpy(piece.data(), &rows_[offset - begin], piece.size());
    if (!keeps_ || offset + piece.size() == end_)
      std::vector<std::byte>().swap(rows_);  // "= {}" would keep its memory
  }

 private:
  TensorBytes bytes_;
  RowOrder order_;
  std::uint64_t end_;
  bool keeps_;
  std::vector<std::byte> rows_;
};

// The extents of a tensor as files have them.
std::vector<std::int64_t> stored_extents(const StoredWeight& weight) {
  std::vector<std::int64_t> result = extents(weight.value.shape());
  if (weight.transposed) std::ranges::reverse(result);
  return result;
}

}  // namespace

TensorBytes bytes_of(Context& context, const Tensor& tensor) {
  return {.read = [&context, tensor](
                      std::uint64_t offset,
                      std::span<std::byte> piece) { read_memory(context, tensor, offset, piece); },
          .write =
              [&context, tensor](std::uint64_t offset, std::span<const std::byte> piece) {
                if (!context.executes()) return;
                context.compute().write(tensor.address() + offset, piece.data(), piece.size());
              }};
}

StoredTensor stored(Context& context, const StoredWeight& weight) {
  return stored(weight, bytes_of(context, weight.value));
}

StoredTensor stored(const StoredWeight& weight, const TensorBytes& bytes) {
  const TensorSpec& spec = weight.value.spec();
  return {.name = weight.name,
          .dtype = stored_type(spec.dtype),
          .shape = stored_extents(weight),
          .read = [reader = std::make_shared<TurnedReader>(bytes, weight)](
                      std::uint64_t offset, std::span<std::byte> piece) {
            reader->read(offset, piece);
          }};
}

bool fits(const StoredTensor& tensor, const StoredWeight& weight) {
  return tensor.dtype == stored_type(weight.value.spec().dtype) &&
         tensor.shape == stored_extents(weight);
}

void load(Context& context, const StoredTensor& from, const StoredWeight& to) {
  load(from, to, bytes_of(context, to.value));
}

void load(const StoredTensor& from, const StoredWeight& to, const TensorBytes& bytes) {
  if (!fits(from, to)) {
    const StoredTensor expected{.dtype = stored_type(to.value.spec().dtype),
                                .shape = stored_extents(to)};
    throw ShapeError("checkpoint", from.name, spec_text(from), spec_text(expected));
  }
  const RowOrder order = row_order(to);
  const std::uint64_t row = order.row_bytes(), end = to.value.spec().bytes();
  std::vector<std::byte> file(std::max<std::uint64_t>(kStoredPieceBytes / row, 1) * row),
      memory(file);
  for (std::uint64_t offset = 0; offset < end; offset += file.size()) {
    const std::uint64_t size = std::min(file.size(), end - offset);
    from.read(offset, std::span(file).first(size));
    if (order.same()) {
      memory.swap(file);
    } else {
      order.to_memory(std::span(file).first(size), memory);
    }
    bytes.write(offset, std::span(memory).first(size));
  }
}

std::string tensors_sha256(Context& context, std::span<const Tensor> tensors) {
  Sha256 sha256;
  std::vector<std::byte> buffer(kStoredPieceBytes);
  for (const Tensor& tensor : tensors) {
    const std::uint64_t end = tensor.spec().bytes();
    for (std::uint64_t offset = 0; offset < end; offset += kStoredPieceBytes) {
      const auto piece = std::span(buffer).first(std::min(kStoredPieceBytes, end - offset));
      read_memory(context, tensor, offset, piece);
      sha256.update(piece);
    }
  }
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
