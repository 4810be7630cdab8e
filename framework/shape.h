#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace skyline {

// The number of an input or an output, as containers count.
constexpr std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }

enum class DType : std::uint8_t { kFloat32, kInt32, kUint8 };
std::size_t dtype_bytes(DType dtype) noexcept;
std::string dtype_name(DType dtype);

// Extents of a tensor, at most 4 dimensions. Images are N C H W here, whatever their layout.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  // Throws ShapeError on more than 4 extents or a negative one.
  Shape(std::initializer_list<std::int64_t> extents);

  int rank() const noexcept { return rank_; }
  std::int64_t operator[](int axis) const noexcept {
    return extents_[static_cast<std::size_t>(axis)];
  }
  std::int64_t elements() const noexcept;  // 1 for rank 0
  std::string str() const;                 // "[32, 3, 28, 28]"
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

// The shape and dtype of a tensor. Rank-4 tensors are channels-last (N H W C) in memory, all others
// row-major.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::kFloat32;
  std::size_t bytes() const noexcept;
  std::string str() const;  // "f32[32, 10]"
  bool operator==(const TensorSpec&) const = default;
};

// A shape or dtype that an op does not accept: "[conv2d] input channels, got 3, expected 16".
class ShapeError : public std::invalid_argument {
 public:
  ShapeError(const std::string& where, const std::string& what, const std::string& got,
             const std::string& expected);
};

// Two extents, one for each axis of an image. One number stands for both: `.stride = 2`.
struct Size2d {
  int height = 0;
  int width = 0;

  constexpr Size2d() = default;
  constexpr Size2d(int both) : height(both), width(both) {}  // implicit on purpose
  constexpr Size2d(int height_, int width_) : height(height_), width(width_) {}

  constexpr int area() const noexcept { return height * width; }
  std::string str() const { return std::to_string(height) + "x" + std::to_string(width); }
  constexpr bool operator==(const Size2d&) const = default;
};

}  // namespace skyline
