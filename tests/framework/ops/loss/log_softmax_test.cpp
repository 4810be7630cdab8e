#include "framework/ops/loss/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

std::vector<float> run(const Shape& shape, const std::vector<float>& logits) {
  RecordedContext recorded({.mode = Mode::kInference});
  Tensor x = recorded.context.upload({shape}, logits.data());
  const std::byte* address = x.address();
  const Tensor y = log_softmax(recorded.context, std::move(x));
  EXPECT_EQ(y.address(), address) << "in place";
  return RecordedContext::values(y);
}

TEST(LogSoftmax, MatchesReference) {
  for (const Shape& shape : {Shape{3, 7}, Shape{1, 1}, Shape{31, 501}}) {
    const HostTensor x = random_tensor(shape, 351, 0, {-6, 6});
    const std::vector<float> got = run(shape, {x.values.begin(), x.values.end()});
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      double sum = 0;
      for (std::int64_t k = 0; k < shape[1]; ++k) sum += std::exp(x.at(row, k));
      for (std::int64_t k = 0; k < shape[1]; ++k) {
        ASSERT_NEAR(got[static_cast<std::size_t>(row * shape[1] + k)], x.at(row, k) - std::log(sum),
                    3e-6);
      }
    }
  }
}

TEST(LogSoftmax, StaysFiniteForHugeLogits) {
  EXPECT_EQ(run({1, 2}, {1000, 0}), (std::vector<float>{0, -1000}));
  EXPECT_EQ(run({1, 2}, {-3e38f, 0}), (std::vector<float>{-3e38f, 0}));
}

TEST(LogSoftmax, LeavesLogitsThatAreHeldAlone) {
  RecordedContext recorded;
  const std::vector<float> logits = {1, 2, 3};
  const Tensor x = recorded.context.upload({{1, 3}}, logits.data());
  const Tensor y = log_softmax(recorded.context, x);
  EXPECT_NE(y.address(), x.address());
  EXPECT_EQ(RecordedContext::values(x), logits);
}

TEST(LogSoftmax, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  EXPECT_THROW(log_softmax(recorded.context, recorded.upload_vector({1, 2})), ShapeError);
}

}  // namespace
}  // namespace skyline
