#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "framework/ops/activation/activations.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/op_check.h"
#include "tests/framework/op_check_ops.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using ActivationFunction = Tensor (*)(Context&, Tensor);
using ReferenceFunction = HostTensor (*)(const HostTensor&);

struct ActivationCase {
  const char* name;
  ActivationFunction apply;
  ReferenceFunction reference;
};

class ActivationTest : public testing::TestWithParam<ActivationCase> {
 protected:
  static void check(const Shape& shape, std::uint64_t seed) {
    const ActivationCase& activation = GetParam();
    check_op(
        {.apply = [&](Context& context,
                      std::vector<Tensor> x) { return activation.apply(context, std::move(x[0])); },
         .reference = [&](const std::vector<HostTensor>& x) { return activation.reference(x[0]); },
         .inputs = {random_tensor(shape, seed, 0, {.low = -2, .high = 2, .away_from_zero = 0.01})},
         .seed = seed});
  }
};

TEST_P(ActivationTest, MatchesReferenceOnImages) { check({2, 3, 5, 7}, 11); }
TEST_P(ActivationTest, MatchesReferenceOnOneElement) { check({1}, 12); }
// Above both serial cut-offs, and no multiple of a vector, so that parallel chunks have ragged
// ends.
TEST_P(ActivationTest, MatchesReferenceWhenParallel) { check({37, 1011}, 13); }

TEST_P(ActivationTest, RefusesIntegersNamingTheOp) {
  RecordedContext recorded;
  const std::vector<std::int32_t> host(6);
  Tensor x = recorded.context.upload({Shape{2, 3}, DType::kInt32}, host.data());
  try {
    GetParam().apply(recorded.context, std::move(x));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_EQ(std::string(error.what()), std::string("[") + GetParam().name +
                                             "] operand 0, got i32[2, 3], expected f32[2, 3]");
  }
}

// Returns the most bytes alive at once in a step of `program`, without parameters and gradients.
template <typename Program>
std::size_t peak_bytes(RecordedContext& recorded, const Program& program) {
  const std::size_t resident_bytes = recorded.pool.statistics().requested_bytes;
  program();
  return recorded.pool.statistics().peak_requested_bytes - resident_bytes;
}

constexpr std::size_t kBuffer = 4000;  // bytes of 1000 elements
constexpr std::size_t kLoss = 4;

// Only y and the gradient are alive: grad_input takes grad_output's place.
TEST_P(ActivationTest, BackwardWritesOverGradOutput) {
  RecordedContext recorded;
  const Parameter x = recorded.vector_parameter("x", 1000, 0.5f);
  const std::size_t peak = peak_bytes(recorded, [&] {
    Tensor y = GetParam().apply(recorded.context, copy(recorded.context, x.value));
    backward(recorded.context, total(recorded.context, std::move(y)));
  });
  EXPECT_EQ(peak, 2 * kBuffer + kLoss) << recorded.refusals();
}

// The other operand of add still needs grad_output, so grad_input takes the place of what is
// retained: y or, in place of y, x.
TEST_P(ActivationTest, BackwardWritesOverYWhenGradOutputIsNeededElsewhere) {
  RecordedContext recorded;
  const Parameter a = recorded.vector_parameter("a", 1000, 0.5f);
  const Parameter b = recorded.vector_parameter("b", 1000, 0.5f);
  Context& context = recorded.context;
  const std::size_t peak = peak_bytes(recorded, [&] {
    Tensor y = GetParam().apply(context, copy(context, a.value));
    backward(context, total(context, add(context, std::move(y), copy(context, b.value))));
  });
  const bool keeps_x = std::string(GetParam().name) == "gelu";  // beside y and b
  EXPECT_EQ(peak, keeps_x ? 3 * kBuffer : 2 * kBuffer + kLoss) << recorded.refusals();
}

TEST_P(ActivationTest, InferenceChainRunsInOneBuffer) {
  RecordedContext recorded({.mode = Mode::kInference});
  Tensor x = recorded.upload_vector(std::vector<float>(1000, 0.5f));
  for (int i = 0; i < 3; ++i) x = GetParam().apply(recorded.context, std::move(x));
  EXPECT_EQ(recorded.pool.statistics().peak_requested_bytes, kBuffer);
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest,
                         testing::Values(ActivationCase{"relu", relu, reference::relu},
                                         ActivationCase{"sigmoid", sigmoid, reference::sigmoid},
                                         ActivationCase{"tanh", tanh, reference::tanh},
                                         ActivationCase{"gelu", gelu, reference::gelu}),
                         [](const auto& suite) { return suite.param.name; });

double ulps(float got, double expected) {
  int exponent = 0;
  std::frexp(expected, &exponent);
  return std::fabs(double{got} - expected) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// Steps through all magnitudes from the smallest denormal to 87.
template <typename Check>
void for_many_magnitudes(const Check& check) {
  constexpr std::uint32_t kStep = 4099;  // prime: visits all low-bit patterns
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(87.0f); bits += kStep) {
    check(std::bit_cast<float>(bits));
  }
}

TEST(ActivationPrecision, StaysWithinAFewUnitsInTheLastPlace) {
  double exponential_worst = 0, sigmoid_worst = 0, tanh_worst = 0, gelu_worst = 0;
  for_many_magnitudes([&](float x) {
    exponential_worst = std::max(exponential_worst, ulps(exponential(-x), std::exp(-double{x})));
    for (const float v : {x, -x}) {
      sigmoid_worst =
          std::max(sigmoid_worst, ulps(SigmoidFunction{}(v), 1 / (1 + std::exp(-double{v}))));
      tanh_worst = std::max(tanh_worst, ulps(TanhFunction{}(v), std::tanh(double{v})));
      if (v < -4) continue;  // the exponent is large there, and so is what its rounding does
      const double gelu = reference::gelu(HostTensor(Shape{1}, std::vector<double>{v}))[0];
      gelu_worst = std::max(gelu_worst, ulps(GeluFunction{}(v), gelu));
    }
  });
  EXPECT_LE(exponential_worst, 2);
  EXPECT_LE(sigmoid_worst, 3);
  EXPECT_LE(tanh_worst, 2);
  EXPECT_LE(gelu_worst, 20);
}

TEST(ActivationPrecision, HandlesInfinitiesAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-88), 0);
  EXPECT_EQ(exponential(-kInfinity), 0);
  EXPECT_EQ(SigmoidFunction{}(-kInfinity), 0);
  EXPECT_EQ(SigmoidFunction{}(kInfinity), 1);
  EXPECT_EQ(TanhFunction{}(-kInfinity), -1);
  EXPECT_EQ(TanhFunction{}(kInfinity), 1);
  EXPECT_EQ(GeluFunction{}(kInfinity), kInfinity);
  EXPECT_EQ(GeluFunction{}(-20), 0);
  EXPECT_EQ(ReluFunction{}(-kInfinity), 0);
  EXPECT_EQ(LimitedReluFunction{6}(kInfinity), 6);
  EXPECT_TRUE(std::isnan(exponential(nan)));
  EXPECT_TRUE(std::isnan(SigmoidFunction{}(nan)));
  EXPECT_TRUE(std::isnan(TanhFunction{}(nan)));
  EXPECT_TRUE(std::isnan(GeluFunction{}(nan)));
  EXPECT_TRUE(std::isnan(ReluFunction{}(nan)));
  EXPECT_TRUE(std::isnan(LimitedReluFunction{6}(nan)));
}

}  // namespace
}  // namespace skyline
