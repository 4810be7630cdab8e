#include "framework/ops/loss/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

std::vector<std::int32_t> argmax_of(const Shape& shape, const std::vector<float>& values) {
  RecordedContext recorded;
  Tensor y = argmax(recorded.context, recorded.context.upload({shape}, values.data()));
  EXPECT_EQ(y.spec(), (TensorSpec{Shape{shape[0]}, DType::kInt32}));
  std::vector<std::int32_t> columns(static_cast<std::size_t>(shape[0]));
  recorded.context.download(std::move(y), columns.data());
  return columns;
}

TEST(Argmax, FindsTheLargestOfEachRow) {
  for (const Shape& shape : {Shape{4, 9}, Shape{1, 1}, Shape{33, 1009}}) {
    const HostTensor x = random_tensor(shape, 361);
    const std::vector<float> values(x.values.begin(), x.values.end());
    const std::vector<std::int32_t> got = argmax_of(shape, values);
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      const auto begin = values.begin() + row * shape[1];
      EXPECT_EQ(got[static_cast<std::size_t>(row)],
                std::max_element(begin, begin + shape[1]) - begin);
    }
  }
}

TEST(Argmax, TakesTheFirstOfEqualOnes) {
  EXPECT_EQ(argmax_of({2, 4}, {1, 7, 7, 7, -2, -3, -2, -9}), (std::vector<std::int32_t>{1, 0}));
}

TEST(Argmax, PassesNaNOver) {
  const float nan = std::nanf(""), least = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(argmax_of({3, 3}, {nan, -5, -4, nan, least, nan, nan, nan, nan}),
            (std::vector<std::int32_t>{2, 1, 0}));
}

TEST(Argmax, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  EXPECT_THROW(argmax(recorded.context, recorded.upload_vector({1, 2})), ShapeError);
}

}  // namespace
}  // namespace skyline
