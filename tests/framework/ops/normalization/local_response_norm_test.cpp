#include "framework/ops/normalization/local_response_norm.h"

#include <gtest/gtest.h>

#include "framework/ops/activation/activations.h"
#include "framework/ops/normalization/normalization_kernels.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/local_response_norm.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

constexpr std::uint64_t kLrnSeed = 71;

struct LrnCase {
  const char* name;
  Shape x;
  LocalResponseNormParams params;
  double magnitude = 1;  // of the largest x
};

void PrintTo(const LrnCase& c, std::ostream* out) { *out << c.name; }
std::string lrn_name(const testing::TestParamInfo<LrnCase>& info) { return info.param.name; }

class LocalResponseNorm : public testing::TestWithParam<LrnCase> {};

TEST_P(LocalResponseNorm, EqualsTheReferenceAndItsFiniteDifferences) {
  const LrnCase& c = GetParam();
  check_op({.apply =
                [&c](Context& context, std::vector<Tensor> x) {
                  return local_response_norm(context, std::move(x[0]), c.params);
                },
            .reference =
                [&c](const std::vector<HostTensor>& x) {
                  return reference::local_response_norm(x[0], c.params);
                },
            .inputs = {random_tensor(c.x, kLrnSeed, 0, {.low = -c.magnitude, .high = c.magnitude})},
            .derivatives_per_input = 15,
            .step = 1e-5 * c.magnitude,
            .seed = kLrnSeed});
}

// A large alpha makes the second term of the gradient count. A block holds 1986 channels.
const LrnCase kLrnCases[] = {
    {"alexnet", {2, 96, 3, 3}, {}, 30},
    {"strong", {2, 13, 3, 2}, {.alpha = 0.5f}},
    {"one_channel", {2, 1, 2, 3}, {.alpha = 0.5f}},
    {"two_channels", {1, 2, 2, 2}, {.alpha = 0.5f}},
    {"one_block", {1, 1986, 1, 1}, {.alpha = 0.5f}},
    {"last_block_holds_one_gradient", {1, 1985, 1, 1}, {.alpha = 0.5f}},
    {"two_blocks", {1, 1999, 1, 1}, {.alpha = 0.5f}},
    {"threads", {1, 32, 16, 16}, {.alpha = 0.5f}},
    {"window_of_one", {1, 5, 2, 2}, {.size = 1, .alpha = 0.5f}},
    {"wide_window", {1, 9, 2, 2}, {.size = 63, .k = 1, .alpha = 0.1f}},
    {"wide_window_two_blocks", {1, 2020, 1, 1}, {.size = 63, .k = 1, .alpha = 0.1f}},
    {"other_exponent", {2, 17, 3, 3}, {.alpha = 0.5f, .beta = 0.6f}},
    {"exponent_zero", {1, 7, 2, 2}, {.alpha = 0.5f, .beta = 0}},
    {"tiny_scales", {1, 7, 2, 2}, {.k = 1e-20f}, 1e-9},
    {"huge_scales", {1, 7, 2, 2}, {.k = 1e25f}, 1e12},
};
INSTANTIATE_TEST_SUITE_P(Shapes, LocalResponseNorm, testing::ValuesIn(kLrnCases), lrn_name);

// Alpha multiplies the sum of squares itself, as in Chainer: (2 + 1e-4 * 3 * 100^2)^-0.75 =
// 5^-0.75.
TEST(LocalResponseNormFormula, DoesNotDivideAlphaBySize) {
  RecordedContext recorded({.mode = Mode::kInference});
  const std::vector<float> host(3, 100.0f);
  Tensor x = recorded.context.upload({{1, 3, 1, 1}}, host.data());
  const Tensor y = local_response_norm(recorded.context, std::move(x));
  EXPECT_NEAR(RecordedContext::values(y)[1], 100 * std::pow(5.0, -0.75), 1e-5);
}

TEST(LocalResponseNormMemory, WritesOverItsInputInInference) {
  RecordedContext recorded({.mode = Mode::kInference});
  const std::vector<float> host(24, 1.0f);
  Tensor x = recorded.context.upload({{2, 3, 2, 2}}, host.data());
  const std::byte* address = x.address();
  EXPECT_EQ(local_response_norm(recorded.context, std::move(x)).address(), address);
}

// Kept between forward and backward: the parameter's copy of x, which relu retains anyway, and the
// loss.
TEST(LocalResponseNormMemory, RetainsItsInputAlone) {
  RecordedContext recorded;
  const std::vector<float> host(2 * 64 * 4 * 4, 1.0f);
  const Parameter x = make_parameter(recorded.context, {{2, 64, 4, 4}}, "x", host.data());
  const std::size_t resident = recorded.pool.statistics().requested_bytes;
  recorded.context.begin_step();
  Tensor y = relu(recorded.context, x.value);
  y = local_response_norm(recorded.context, std::move(y));
  const Tensor loss = total(recorded.context, std::move(y));
  const std::size_t retained = recorded.pool.statistics().requested_bytes - resident;
  EXPECT_EQ(retained, host.size() * sizeof(float) + loss.spec().bytes());
  EXPECT_NE(recorded.refusals().find("local_response_norm of x: input 0 is still read by relu"),
            std::string::npos);
}

// Returns the kernel's output, in separate memory if `over` is -1, else over that input.
std::vector<float> gradient_over(int over, std::int64_t channels) {
  const HostTensor x = random_tensor({2, channels, 1, 1}, kLrnSeed, 0);
  const HostTensor grad_output = random_tensor({2, channels, 1, 1}, kLrnSeed, 1);
  std::vector<float> buffers[] = {{x.values.begin(), x.values.end()},
                                  {grad_output.values.begin(), grad_output.values.end()},
                                  std::vector<float>(x.values.size())};
  std::byte* addresses[3];
  for (std::size_t i = 0; i < 3; ++i)
    addresses[i] = reinterpret_cast<std::byte*>(buffers[i].data());
  const std::size_t output = over < 0 ? 2 : static_cast<std::size_t>(over);
  const std::byte* inputs[] = {addresses[0], addresses[1]};
  make_local_response_norm_grad_cpu({.pixels = 2, .channels = channels, .params = {.alpha = 0.5f}})
      ->run({inputs, std::span(&addresses[output], 1)});
  return buffers[output];
}

// A block of channels holds 1986; a window spans two blocks.
TEST(LocalResponseNormMemory, GradientMayBeWrittenOverEitherInput) {
  for (const std::int64_t channels : {1, 5, 64, 1985, 1986, 1987, 2500}) {
    const std::vector<float> apart = gradient_over(-1, channels);
    EXPECT_EQ(gradient_over(0, channels), apart) << channels << " channels, over x";
    EXPECT_EQ(gradient_over(1, channels), apart) << channels << " channels, over grad_output";
  }
}

std::string lrn_refusal(const std::function<void(Context&)>& program) {
  RecordedContext recorded;
  try {
    program(recorded.context);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::string lrn_refusal(TensorSpec x, LocalResponseNormParams params) {
  const std::vector<std::byte> host(x.bytes() + 1);  // not null when x is empty
  return lrn_refusal([&](Context& context) {
    local_response_norm(context, context.upload(x, host.data()), params);
  });
}

TEST(LocalResponseNormErrors, RefusesWhatItCannotTake) {
  EXPECT_EQ(lrn_refusal({{2, 3}}, {}),
            "[local_response_norm] x, got f32[2, 3], expected f32 of rank 4");
  EXPECT_EQ(lrn_refusal({{2, 3, 0, 2}}, {}),
            "[local_response_norm] x, got f32[2, 3, 0, 2], expected no empty extent");
  EXPECT_EQ(lrn_refusal({{2, 3, 2, 2}}, {.size = 4}),
            "[local_response_norm] size, got 4, expected odd, 1 to 63");
  EXPECT_EQ(lrn_refusal({{2, 3, 2, 2}}, {.size = 65}),
            "[local_response_norm] size, got 65, expected odd, 1 to 63");
  EXPECT_EQ(
      lrn_refusal({{2, 3, 2, 2}}, {.k = 0}),
      "[local_response_norm] parameters, got size=5 k=0 alpha=0.0001 beta=0.75, expected k > 0, "
      "alpha and beta >= 0");
}

}  // namespace
}  // namespace skyline
