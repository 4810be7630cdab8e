#include "tests/framework/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/philox.h"

namespace skyline {

std::vector<std::int64_t> memory_order(const Shape& shape) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(shape.elements()));
  std::iota(order.begin(), order.end(), 0);
  if (shape.rank() != 4) return order;
  auto next = order.begin();
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t h = 0; h < shape[2]; ++h) {
      for (std::int64_t w = 0; w < shape[3]; ++w) {
        for (std::int64_t c = 0; c < shape[1]; ++c) {
          *next++ = ((n * shape[1] + c) * shape[2] + h) * shape[3] + w;
        }
      }
    }
  }
  return order;
}

std::vector<double> to_memory_order(const HostTensor& tensor) {
  std::vector<double> stored;
  for (const std::int64_t index : memory_order(tensor.shape)) stored.push_back(tensor[index]);
  return stored;
}

std::vector<float> stored_values(const HostTensor& tensor) {
  const std::vector<double> values = to_memory_order(tensor);
  return {values.begin(), values.end()};
}

HostTensor from_memory_order(const Shape& shape, const std::vector<float>& stored) {
  HostTensor tensor(shape);
  auto next = stored.begin();
  for (const std::int64_t index : memory_order(shape)) tensor[index] = *next++;
  return tensor;
}

HostTensor map(const HostTensor& x, const std::function<double(double)>& function) {
  HostTensor y = x;
  std::transform(x.values.begin(), x.values.end(), y.values.begin(), function);
  return y;
}

HostTensor random_tensor(const Shape& shape, std::uint64_t seed, std::uint64_t stream,
                         RandomRange range) {
  HostTensor tensor(shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto words = Philox{seed}(stream, static_cast<std::uint64_t>(i));
    const double value = range.low + (range.high - range.low) * double{uniform_float(words[0])};
    const double distance = std::max(std::fabs(value), range.away_from_zero);
    tensor[i] = double{static_cast<float>(std::copysign(distance, value))};
  }
  return tensor;
}

HostTensor random_labels(std::int64_t rows, std::int64_t classes, std::uint64_t seed) {
  constexpr std::uint64_t kLabelStream = 1000;
  HostTensor labels(Shape{rows});
  labels.dtype = DType::kInt32;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto words = Philox{seed}(kLabelStream, static_cast<std::uint64_t>(row));
    labels[row] = static_cast<double>(static_cast<std::int64_t>(words[0]) % classes);
  }
  return labels;
}

}  // namespace skyline
