#include "framework/ops/connection/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_pieces.h"
#include "tests/framework/op_check.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/reference/linear.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kLinearSeed = 21;

struct LinearCase {
  const char* name;
  std::int64_t batch, features, outputs;
  bool bias = true;
};

void PrintTo(const LinearCase& c, std::ostream* out) { *out << c.name; }
std::string linear_name(const testing::TestParamInfo<LinearCase>& info) { return info.param.name; }

std::vector<HostTensor> operands_of(const LinearCase& c) {
  std::vector<HostTensor> operands = {random_tensor({c.batch, c.features}, kLinearSeed, 0),
                                      random_tensor({c.outputs, c.features}, kLinearSeed, 1)};
  if (c.bias) operands.push_back(random_tensor({c.outputs}, kLinearSeed, 2));
  return operands;
}

HostTensor reference_of(const std::vector<HostTensor>& operands) {
  return reference::linear(operands[0], operands[1],
                           operands.size() == 3 ? operands[2] : HostTensor(Shape{0}));
}

class LinearSmall : public testing::TestWithParam<LinearCase> {};
class LinearAll : public testing::TestWithParam<LinearCase> {};

TEST_P(LinearSmall, EqualsTheReferenceAndItsFiniteDifferences) {
  const LinearCase& c = GetParam();
  check_op({.apply =
                [&c](Context& context, std::vector<Tensor> x) {
                  Tensor bias = c.bias ? std::move(x[2]) : Tensor();
                  return linear(context, std::move(x[0]), std::move(x[1]), std::move(bias));
                },
            .reference = reference_of,
            .inputs = operands_of(c),
            .forward_tolerance = 2e-6,
            .seed = kLinearSeed,
            .has_products = true});
}

TEST_P(LinearAll, EveryGradientElementEqualsTheReferenceAndRepeats) {
  const LinearCase& c = GetParam();
  const std::vector<HostTensor> operands = operands_of(c);
  const HostTensor y = reference_of(operands);
  const HostTensor grad_output = random_tensor(y.shape, kLinearSeed, 3);
  KernelRun run;
  const auto first = run(*linear_op(), operands, grad_output);
  const auto expected = reference::linear_gradients(operands[0], operands[1], grad_output);
  expect_close("y", first.outputs[0], y, 2e-6);
  expect_close("grad_x", first.gradients[0], expected.x, 2e-6);
  expect_close("grad_weight", first.gradients[1], expected.weight, 2e-6);
  if (c.bias) expect_close("grad_bias", first.gradients[2], expected.bias, 2e-6);

  const auto second = run(*linear_op(), operands, grad_output);
  EXPECT_EQ(first.outputs[0].values, second.outputs[0].values);
  for (std::size_t i = 0; i < first.gradients.size(); ++i) {
    EXPECT_EQ(first.gradients[i].values, second.gradients[i].values) << "gradient " << i;
  }
}

const LinearCase kSmallLinear[] = {
    {"plain", 4, 7, 5},           {"without_bias", 4, 7, 5, false}, {"one_number", 1, 1, 1},
    {"one_row", 1, 33, 17},       {"one_feature", 9, 1, 3},         {"one_output", 9, 31, 1},
    {"odd_beyond_64", 3, 67, 65}, {"two_pieces", 70, 7, 5},         {"last_row_alone", 129, 9, 4},
};
const LinearCase kLinearNetworks[] = {
    {"mlp_first", static_cast<std::int64_t>(effort(128)), 784, 1000},
    {"mlp_last", 100, 1000, 10},
    {"lenet_fc1", 128, 400, 120},
    {"lenet_fc2", 128, 120, 84},
    {"lenet_fc3", 96, 84, 10},
    {"resnet20_fc", 128, 64, 10},
    {"words", 195, 64, 300},
    // rows of 2 KiB, in panels without AVX-512: blocks, panels and bands that are not whole
    {"gates", 579, 24, 512},
    // few rows by a large weight: panels, bands and blocks that are not whole
    {"classes", 101, 1030, 1025},
};

INSTANTIATE_TEST_SUITE_P(Small, LinearSmall, testing::ValuesIn(kSmallLinear), linear_name);
INSTANTIATE_TEST_SUITE_P(Small, LinearAll, testing::ValuesIn(kSmallLinear), linear_name);
INSTANTIATE_TEST_SUITE_P(Networks, LinearAll, testing::ValuesIn(kLinearNetworks), linear_name);

TEST(RowPieces, CoverAllRowsWithFewShapes) {
  std::set<std::int64_t> shapes;
  for (std::int64_t rows = 1; rows <= 4096; ++rows) {
    std::int64_t next = 0;
    for (const RowRange& piece : row_pieces(rows)) {
      EXPECT_EQ(piece.first, next);
      EXPECT_GT(piece.count, 0);
      shapes.insert(piece.count);
      next += piece.count;
    }
    EXPECT_EQ(next, rows);
  }
  EXPECT_EQ(shapes.size(), 4096u / 64 + 63);
}

// oneDNN silently falls back to reference kernels, which are hundreds of times slower.
TEST(Linear, RunsOnNoReferenceKernelForAnyNumberOfRows) {
  for (std::int64_t rows = 1; rows <= 130; ++rows) {
    const LinearProblem problem{{rows, 48}, {72, 48}, {rows, 72}, true};
    std::vector<std::unique_ptr<Kernel>> kernels;
    kernels.push_back(make_linear_cpu({}, problem));
    kernels.push_back(make_linear_grad_input_cpu({}, problem));
    kernels.push_back(make_linear_grad_weight_cpu(problem));
    for (const std::unique_ptr<Kernel>& kernel : kernels) {
      const auto names = dynamic_cast<const DnnlKernel&>(*kernel).implementations();
      EXPECT_EQ(names.size(), rows > 64 && rows % 64 > 0 ? 2u : 1u) << rows << " rows";
      EXPECT_THAT(names, Each(Not(HasSubstr("ref")))) << rows << " rows";
    }
  }
}

TEST(Linear, SumsTheGradientOfALargeWeightOnce) {
  const LinearProblem problem{{300, 1025}, {1024, 1025}, {300, 1024}, true};
  const auto products = [](const std::unique_ptr<Kernel>& kernel) {
    return dynamic_cast<const DnnlKernel&>(*kernel).implementations().size();
  };
  EXPECT_EQ(products(make_linear_grad_weight_cpu(problem)), 1u);
  EXPECT_EQ(products(make_linear_grad_input_cpu({}, problem)), 2u);
}

std::string linear_refusal(std::vector<TensorSpec> inputs) {
  try {
    linear_op()->outputs(inputs);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Linear, RefusesWhatDoesNotFit) {
  const TensorSpec x{{2, 3}}, weight{{4, 3}};
  EXPECT_EQ(linear_refusal({x, weight, {{4}}}), "accepted");
  EXPECT_EQ(linear_refusal({}), "[linear] number of inputs, got 0, expected 2");
  EXPECT_EQ(linear_refusal({{{2, 3, 1, 1}}, weight}),
            "[linear] x, got f32[2, 3, 1, 1], expected f32 of rank 2");
  EXPECT_EQ(linear_refusal({x, {{4, 3, 1, 1}}}),
            "[linear] weight, got f32[4, 3, 1, 1], expected f32 of rank 2");
  EXPECT_EQ(linear_refusal({x, {{4, 5}}}), "[linear] input features, got 3, expected 5");
  EXPECT_EQ(linear_refusal({x, weight, {{3}}}), "[linear] bias, got f32[3], expected f32[4]");
  EXPECT_EQ(linear_refusal({{{0, 3}}, weight}),
            "[linear] x, got f32[0, 3], expected no empty extent");
}

}  // namespace
}  // namespace skyline
