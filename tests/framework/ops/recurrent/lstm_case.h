#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/recurrent/lstm.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/reference/dropout.h"
#include "tests/framework/reference/lstm.h"

namespace skyline {

// A random LSTM with random sentences: operands for the op and its reference, in the order x, (h,
// c,) and w, u, bias_w, bias_u layer by layer.
struct LstmCase {
  std::vector<std::int32_t> lengths;  // longest first
  std::int64_t in = 3;
  std::int64_t units = 4;
  std::int64_t layers = 1;
  bool state = true;
  float dropout = 0;
  std::uint64_t seed = 1;

  PackedShape shape() const { return PackedShape::of_lengths(lengths); }
  std::int64_t sentences() const { return static_cast<std::int64_t>(lengths.size()); }
  Shape state_shape() const { return {layers * sentences(), units}; }
  std::size_t first_weight() const { return state ? 3 : 1; }

  std::vector<HostTensor> inputs() const {
    std::uint64_t stream = 0;
    const double bound = 1.4 / std::sqrt(static_cast<double>(units));  // keeps the recurrence tame
    const auto random = [&](const Shape& extents, double largest) {
      return random_tensor(extents, seed, stream++, {-largest, largest});
    };
    std::vector<HostTensor> all = {random({shape().rows(), in}, 1)};
    for (int k = 0; state && k < 2; ++k) all.push_back(random(state_shape(), 1));
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      all.push_back(random({4 * units, layer == 0 ? in : units}, bound));
      all.push_back(random({4 * units, units}, bound));
      for (int k = 0; k < 2; ++k) all.push_back(random(Shape{4 * units}, 0.5));
    }
    return all;
  }

  std::vector<LstmWeights> weights(const std::vector<Tensor>& x) const {
    std::vector<LstmWeights> result;
    for (std::size_t k = first_weight(); k < x.size(); k += 4) {
      result.push_back({.w = x[k], .u = x[k + 1], .bias_w = x[k + 2], .bias_u = x[k + 3]});
    }
    return result;
  }

  LstmOutput apply(Context& context, std::vector<Tensor> x) const {
    const std::vector<LstmWeights> all = weights(x);
    std::optional<LstmState> start;
    if (state) start = {.h = std::move(x[1]), .c = std::move(x[2])};
    return lstm(context, std::move(x[0]), std::move(start), all, shape(), {.dropout = dropout});
  }

  // `first_stream` is the stream number of layer 2's mask.
  reference::LstmResult reference(const std::vector<HostTensor>& x,
                                  std::uint64_t first_stream = 0) const {
    reference::LstmInput input{.x = x[0],
                               .h = state ? x[1] : HostTensor(state_shape()),
                               .c = state ? x[2] : HostTensor(state_shape()),
                               .lengths = {lengths.begin(), lengths.end()}};
    for (std::size_t k = first_weight(); k < x.size(); k += 4) {
      input.layers.push_back({x[k], x[k + 1], x[k + 2], x[k + 3]});
    }
    if (dropout > 0) {
      input.dropout = [this, first_stream](std::size_t layer, std::int64_t row, std::int64_t unit) {
        const bool kept =
            reference::dropout_keeps(seed, first_stream + layer, dropout, row * units + unit);
        return kept ? 1 / (1 - double{dropout}) : 0.0;
      };
    }
    return reference::lstm(input);
  }
};

}  // namespace skyline
