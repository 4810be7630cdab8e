#include "framework/shape.h"

namespace skyline {

std::size_t dtype_bytes(DType dtype) noexcept { return dtype == DType::kUint8 ? 1 : 4; }

std::string dtype_name(DType dtype) {
  constexpr const char* kNames[] = {"f32", "i32", "u8"};
  return kNames[static_cast<std::size_t>(dtype)];
}

Shape::Shape(std::initializer_list<std::int64_t> extents) {
  if (extents.size() > kMaxRank) {
    throw ShapeError("shape", "rank", std::to_string(extents.size()), "at most 4");
  }
  for (const std::int64_t extent : extents) {
    if (extent < 0) throw ShapeError("shape", "extent", std::to_string(extent), "at least 0");
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }
}

std::int64_t Shape::elements() const noexcept {
  std::int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) product *= (*this)[axis];
  return product;
}

std::string Shape::str() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string((*this)[axis]);
  }
  return text + "]";
}

std::size_t TensorSpec::bytes() const noexcept {
  return static_cast<std::size_t>(shape.elements()) * dtype_bytes(dtype);
}

std::string TensorSpec::str() const { return dtype_name(dtype) + shape.str(); }

ShapeError::ShapeError(const std::string& where, const std::string& what, const std::string& got,
                       const std::string& expected)
    : std::invalid_argument("[" + where + "] " + what + ", got " + got + ", expected " + expected) {
}

}  // namespace skyline
