#include "framework/ops/activation/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "framework/node.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/dropout.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

void check(const Shape& shape, float rate, std::uint64_t seed) {
  check_op({.apply = [=](Context& context,
                         std::vector<Tensor> x) { return dropout(context, std::move(x[0]), rate); },
            .reference =
                [=](const std::vector<HostTensor>& x) {
                  return reference::dropout(x[0], seed, 0, rate);
                },
            .inputs = {random_tensor(shape, seed)},
            .seed = seed,
            .same_in_inference = false});
}

TEST(Dropout, MatchesReferenceOnImages) { check({2, 3, 5, 7}, 0.5f, 71); }
TEST(Dropout, MatchesReferenceOnAWholeBlock) { check({128}, 0.3f, 72); }
TEST(Dropout, MatchesReferenceWhenParallel) { check({41, 999}, 0.1f, 73); }
TEST(Dropout, MatchesReferenceUnderALargeSeed) { check({7, 11}, 0.5f, 0xFEDCBA9876543210); }

TEST(Dropout, KeepsAboutOneMinusRateOfTheElements) {
  constexpr float kRate = 0.3f;
  constexpr std::int64_t kElements = 100000;
  RecordedContext recorded({.seed = 74});
  const Parameter x = recorded.vector_parameter("x", kElements, 1);
  const Tensor y = dropout(recorded.context, x.value, kRate);
  std::int64_t kept = 0;
  for (const float value : RecordedContext::values(y)) {
    EXPECT_TRUE(value == 0 || value == 1 / (1 - kRate)) << value;
    kept += value != 0 ? 1 : 0;
  }
  const double deviation = std::sqrt(kElements * kRate * (1 - kRate));
  EXPECT_NEAR(static_cast<double>(kept), kElements * (1 - kRate), 5 * deviation);
}

TEST(Dropout, DrawsAnotherMaskEachTime) {
  RecordedContext recorded;
  const Tensor x = recorded.upload_vector(std::vector<float>(256, 1));
  const Tensor first = dropout(recorded.context, x, 0.5f);
  const Tensor second = dropout(recorded.context, x, 0.5f);
  EXPECT_NE(RecordedContext::values(first), RecordedContext::values(second));
}

// A dropped infinity is 0, not NaN.
TEST(Dropout, DropsInfinities) {
  RecordedContext recorded;
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor y =
      dropout(recorded.context, recorded.upload_vector(std::vector<float>(256, infinity)), 0.5f);
  for (const float value : RecordedContext::values(y)) EXPECT_TRUE(value == 0 || value == infinity);
}

TEST(Dropout, RetainsNothing) {
  RecordedContext recorded;
  const Parameter x = recorded.vector_parameter("x", 100, 1);
  const Tensor y = dropout(recorded.context, x.value, 0.5f);
  EXPECT_TRUE(y.edge().node->retained.empty());
}

TEST(Dropout, PassesTensorsThroughInInferenceAndAtRateZero) {
  RecordedContext recorded({.mode = Mode::kInference});
  const Tensor x = recorded.upload_vector({1, 2});
  EXPECT_EQ(dropout(recorded.context, x, 0.5f).storage(), x.storage());
  recorded.context.set_mode(Mode::kTraining);
  EXPECT_EQ(dropout(recorded.context, x, 0).storage(), x.storage());
  EXPECT_EQ(recorded.context.random().next, 0u) << "a stream was taken and not used";
}

TEST(Dropout, RefusesRatesThatAreNone) {
  RecordedContext recorded;
  const Tensor x = recorded.upload_vector({1, 2});
  for (const float rate : {-0.1f, 1.0f, std::nanf("")}) {
    EXPECT_THROW(dropout(recorded.context, x, rate), std::invalid_argument) << rate;
  }
  try {
    dropout(recorded.context, x, 1.5f);
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "[dropout] rate, got 1.5, expected at least 0 and below 1");
  }
}

}  // namespace
}  // namespace skyline
