#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/ops/normalization/batch_norm.h"
#include "tests/framework/op_check.h"

namespace skyline {

inline constexpr std::uint64_t kBatchNormSeed = 23;
inline constexpr BatchNormParams kBatchNormParams{.epsilon = 1e-3f, .decay = 0.75f};

// Operands of one shape of images, each a stream of the seed.
class BatchNormOperands : public testing::TestWithParam<Shape> {
 protected:
  HostTensor images(std::uint64_t stream) const {
    return random_tensor(shape, kBatchNormSeed, stream);
  }
  HostTensor channels(std::uint64_t stream, double low = -1, double high = 1) const {
    return random_tensor({shape[1]}, kBatchNormSeed, stream, {.low = low, .high = high});
  }
  static Tensor resident(Context& context, const HostTensor& tensor) {
    return context.resident({tensor.shape}, Category::kState, "bn", stored_values(tensor).data());
  }
  // A running value that holds zeros.
  Tensor state(Context& context, const char* name) const {
    return context.resident({{shape[1]}}, Category::kState, name);
  }

  // Compares training with the reference and its finite differences.
  using Apply = decltype(OpCheck::apply);
  using Reference = decltype(OpCheck::reference);
  void check_training(Apply apply, Reference reference, std::vector<HostTensor> inputs,
                      bool same_in_inference = false) const {
    check_op({.apply = std::move(apply),
              .reference = std::move(reference),
              .inputs = std::move(inputs),
              .forward_tolerance = 1e-5,
              .gradient_tolerance = 1e-4,  // differences of large sums
              .derivatives_per_input = shape.elements() < 10000 ? 20 : 4,
              .seed = kBatchNormSeed,
              .same_in_inference = same_in_inference});
  }

  Shape shape = GetParam();
  HostTensor x = images(0), gamma = channels(1, 0.5, 2), beta = channels(2);
  HostTensor mean = channels(3), variance = channels(4, 0.5, 2);
};

// The channel counts take different paths (64 at once, 16 at once, the rest); rows exceed one
// chunk.
inline const auto kBatchNormShapes =
    testing::Values(Shape{4, 16, 6, 6}, Shape{2, 64, 4, 4}, Shape{3, 3, 5, 7}, Shape{2, 1, 3, 3},
                    Shape{5, 20, 1, 1}, Shape{2, 17, 1, 2}, Shape{1, 32, 9, 1},
                    Shape{1, 83, 40, 26}, Shape{1, 3, 79, 79});

inline std::string shape_name(const testing::TestParamInfo<Shape>& info) {
  std::string name;
  for (int axis = 0; axis < 4; ++axis) {
    name += (axis > 0 ? "x" : "") + std::to_string(info.param[axis]);
  }
  return name;
}

}  // namespace skyline
