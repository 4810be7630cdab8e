#include "framework/ops/support/dnnl_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/ops/connection/conv2d.h"
#include "framework/ops/connection/linear.h"

namespace skyline {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

// Returns nothing if the kernel is our own. Convolutions are direct; conv2d_engines_test checks the
// other engines.
std::vector<std::string> implementations(const Op& op, std::span<const TensorSpec> inputs) {
  CpuCompute cpu({.engines = CpuOptions::Engines::kDirect});
  const auto kernel = op.kernel(cpu, inputs);
  const auto* library = dynamic_cast<const DnnlKernel*>(kernel.get());
  return library != nullptr ? library->implementations() : std::vector<std::string>{};
}

// oneDNN's reference implementations are a thousand times slower; only their names tell.
MATCHER(AreFast, "") {
  return !arg.empty() && ExplainMatchResult(Each(Not(HasSubstr("ref"))), arg, result_listener);
}

// Checks an op and its gradients that the library computes.
void expect_fast(const Op& op, const std::vector<TensorSpec>& inputs) {
  SCOPED_TRACE(std::string(op.name()) + " of " + inputs[0].str());
  EXPECT_THAT(implementations(op, inputs), AreFast());
  std::vector<TensorSpec> outputs;
  for (const OutputSpec& output : op.outputs(inputs)) outputs.push_back(output.spec);
  for (const GradientCall& call : op.gradient(inputs, std::vector(inputs.size(), true))) {
    std::vector<TensorSpec> sources;
    for (const GradientSource& source : call.sources) {
      const auto& from = source.kind == GradientSource::Kind::kInput ? inputs : outputs;
      sources.push_back(from[static_cast<std::size_t>(source.index)]);
    }
    EXPECT_THAT(implementations(*call.op, sources), AreFast()) << call.op->name();
  }
}

class Networks : public testing::TestWithParam<std::int64_t> {
 protected:
  std::int64_t batch = GetParam();
};

TEST_P(Networks, LenetAvoidsReferenceImplementations) {
  expect_fast(*conv2d_op({.padding = 2}), {{{batch, 1, 28, 28}}, {{6, 1, 5, 5}}, {{6}}});
  expect_fast(*conv2d_op(), {{{batch, 6, 14, 14}}, {{16, 6, 5, 5}}, {{16}}});
  expect_fast(*conv2d_op(), {{{batch, 16, 5, 5}}, {{120, 16, 5, 5}}, {{120}}});
  expect_fast(*linear_op(), {{{batch, 400}}, {{120, 400}}, {{120}}});
  expect_fast(*linear_op(), {{{batch, 120}}, {{84, 120}}, {{84}}});
  expect_fast(*linear_op(), {{{batch, 84}}, {{10, 84}}, {{10}}});
}

TEST_P(Networks, MlpAvoidsReferenceImplementations) {
  expect_fast(*linear_op(), {{{batch, 784}}, {{1000, 784}}, {{1000}}});
  expect_fast(*linear_op(), {{{batch, 1000}}, {{1000, 1000}}, {{1000}}});
  expect_fast(*linear_op(), {{{batch, 1000}}, {{10, 1000}}, {{10}}});
}

TEST_P(Networks, Resnet20AvoidsReferenceImplementations) {
  expect_fast(*conv2d_op({.padding = 1}), {{{batch, 3, 32, 32}}, {{16, 3, 3, 3}}});
  std::int64_t channels = 16, image = 32;
  for (int stage = 0; stage < 3; ++stage, channels *= 2, image /= 2) {
    const TensorSpec x{{batch, channels, image, image}};
    expect_fast(*conv2d_op({.padding = 1}), {x, {{channels, channels, 3, 3}}});
    if (stage == 2) continue;
    expect_fast(*conv2d_op({.stride = 2, .padding = 1}), {x, {{2 * channels, channels, 3, 3}}});
    expect_fast(*conv2d_op({.stride = 2}), {x, {{2 * channels, channels, 1, 1}}});
  }
  expect_fast(*linear_op(), {{{batch, 64}}, {{10, 64}}, {{10}}});
}

TEST_P(Networks, DepthwiseConvolutionsAvoidReferenceImplementations) {
  for (const int channels : {32, 96, 960}) {
    for (const int stride : {1, 2}) {
      expect_fast(*conv2d_op({.stride = stride, .padding = 1, .groups = channels}),
                  {{{batch, channels, 14, 14}}, {{channels, 1, 3, 3}}});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Batch, Networks, testing::Values(1, 5, 32, 128),
                         testing::PrintToStringParamName());

// The matrix product reads the weight as stored: no copy of it in the workspace.
TEST(DnnlKernel, LinearCopiesNoWeight) {
  const std::vector<TensorSpec> inputs = {{{32, 9216}}, {{4096, 9216}}, {{4096}}};
  CpuCompute cpu;
  const auto kernel = linear_op()->kernel(cpu, inputs);
  EXPECT_LT(kernel->workspace_bytes(), inputs[1].bytes() / 100);
}

TEST(DnnlKernel, ReordersOnlyBetweenDifferentLayouts) {
  const auto plain = dnnl_layout({16, 8, 3, 3});
  const auto other = dnnl::memory::desc({16, 8, 3, 3}, dnnl::memory::data_type::f32,
                                        dnnl::memory::format_tag::abcd);
  DnnlKernel kernel;
  const auto operand = kernel.input(0, plain);
  EXPECT_EQ(kernel.reordered(operand, plain), operand);
  EXPECT_EQ(kernel.workspace_bytes(), 0u);
  EXPECT_NE(kernel.reordered(operand, other), operand);
  EXPECT_EQ(kernel.implementations().size(), 1u);
  EXPECT_GE(kernel.workspace_bytes(), plain.get_size());
}

}  // namespace
}  // namespace skyline
