#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "framework/shape.h"

namespace skyline {

// A tensor of the readable references: double precision, row-major in the order of its shape, so an
// image is N C H W here. Only memory_order() and from_memory_order() know that the framework's
// rank-4 tensors are channels-last.
struct HostTensor {
  Shape shape;
  std::vector<double> values;
  DType dtype = DType::kFloat32;  // dtype passed to the framework: f32 or i32

  HostTensor() = default;
  explicit HostTensor(Shape shape_in, double value = 0)
      : shape(shape_in), values(static_cast<std::size_t>(shape_in.elements()), value) {}
  HostTensor(Shape shape_in, std::vector<double> values_in)
      : shape(shape_in), values(std::move(values_in)) {}

  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  double& at(std::int64_t row, std::int64_t column) { return (*this)[row * shape[1] + column]; }
  double at(std::int64_t row, std::int64_t column) const {
    return (*this)[row * shape[1] + column];
  }
  double& at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    return (*this)[((n * shape[1] + c) * shape[2] + h) * shape[3] + w];
  }
  double at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return (*this)[((n * shape[1] + c) * shape[2] + h) * shape[3] + w];
  }
  std::int64_t elements() const { return shape.elements(); }
};

// Returns, for each position in the framework's memory, the element's row-major index.
std::vector<std::int64_t> memory_order(const Shape& shape);

// Convert the values to the framework's storage order, and back.
std::vector<double> to_memory_order(const HostTensor& tensor);
HostTensor from_memory_order(const Shape& shape, const std::vector<float>& stored);

// Returns the values in the framework's storage order, as f32.
std::vector<float> stored_values(const HostTensor& tensor);

// y[i] = function(x[i]).
HostTensor map(const HostTensor& x, const std::function<double(double)>& function);

struct RandomRange {
  double low = -1;
  double high = 1;
  double away_from_zero = 0;  // no value is nearer to 0: keeps clear of kinks
};

// Returns uniform values that are exact in f32; the same for the same seed and stream.
HostTensor random_tensor(const Shape& shape, std::uint64_t seed, std::uint64_t stream = 0,
                         RandomRange range = {});

// Returns i32 labels in [0, classes).
HostTensor random_labels(std::int64_t rows, std::int64_t classes, std::uint64_t seed);

}  // namespace skyline
