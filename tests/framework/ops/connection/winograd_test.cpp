// Tests Winograd's convolutions with the loops for each kind of processor.
#include "framework/ops/connection/winograd_cpu.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tests/framework/ops/connection/conv_operands.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/reference/conv2d.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using enum ConvolutionKind;

constexpr std::uint64_t kWinogradSeed = 22;
constexpr ConvolutionKind kKinds[] = {kForward, kGradInput, kGradWeight};

struct WinogradCase {
  Shape x, weight;
  Conv2dParams params;
  bool bias = true;
};

// Several groups of outputs, blocks and chunks of weights, panels that are not full, tiles beyond
// the images, and paddings that put whole tiles or none of an image's border outside.
const std::int64_t kFew = runs_all_cases() ? 2 : 1, kMany = runs_all_cases() ? 7 : 2;
// clang's OpenMP leaks a little for each thread beyond the third.
const int kMostThreads = runs_all_cases() ? 16 : 3;
const WinogradCase kCases[] = {
    {{kFew, 130, 9, 11}, {140, 130, 3, 3}, {.padding = 1}},
    {{kMany, 32, 30, 33}, {48, 32, 3, 3}, {.padding = 1, .relu = true}},
    {{3, 17, 40, 23}, {19, 17, 3, 3}, {.padding = {0, 2}}},
    {{2, 5, 6, 6}, {3, 5, 3, 3}, {.padding = 4}, false},
    {{1, 1, 3, 3}, {1, 1, 3, 3}, {}, false},
    {{2, 130, 7, 6}, {40, 130, 5, 5}, {.padding = 2}},
    {{5, 16, 17, 22}, {33, 16, 5, 5}, {.padding = {4, 0}, .relu = true}},
    {{1, 3, 5, 5}, {2, 3, 5, 5}, {.padding = 5}, false},
    // Results have the images' size; shares and rounds end within images.
    {{3, 16, 45, 50}, {16, 16, 3, 3}, {.padding = 1, .relu = true}},
    {{1, 24, 90, 7}, {24, 24, 3, 3}, {.padding = 1}, false},
    {{2, 16, 27, 22}, {16, 16, 5, 5}, {.padding = 2}},
    {{7, 30, 5, 9}, {30, 30, 3, 3}, {.padding = 1}},
    {{kFew, 260, 6, 6}, {260, 260, 3, 3}, {.padding = 1}},
};

Conv2dProblem problem_of(const WinogradCase& c) {
  const TensorSpec inputs[] = {{c.x}, {c.weight}};
  return {c.x, c.weight, conv2d_op(c.params)->outputs(inputs)[0].spec.shape, c.params, c.bias};
}

// Runs a kernel in a workspace of NaN, and expects it to write nothing behind that. `over` is the
// input that output 0 is written over.
std::vector<HostTensor> run(Kernel& kernel, const std::vector<HostTensor>& inputs,
                            const std::vector<Shape>& shapes, std::optional<int> over = {}) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::size_t kLine = 16;  // floats of a cache line, to which workspaces are aligned
  const std::size_t floats = kernel.workspace_bytes() / sizeof(float);
  std::vector<float> workspace(floats + 3 * kLine, kNan);
  const auto first = reinterpret_cast<std::uintptr_t>(workspace.data()) / sizeof(float);
  float* const at = workspace.data() + (kLine - first % kLine) % kLine;
  at[floats] = 1;
  std::vector<std::vector<float>> in, out;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> results;
  for (const HostTensor& input : inputs) in.push_back(stored_values(input));
  for (const Shape& shape : shapes) out.emplace_back(shape.elements(), kNan);
  for (const auto& values : in)
    sources.push_back(reinterpret_cast<const std::byte*>(values.data()));
  for (auto& values : out) results.push_back(reinterpret_cast<std::byte*>(values.data()));
  if (over) {
    out[0] = in[static_cast<std::size_t>(*over)];
    sources[static_cast<std::size_t>(*over)] = results[0] =
        reinterpret_cast<std::byte*>(out[0].data());
  }
  kernel.run({sources, results, reinterpret_cast<std::byte*>(at)});
  EXPECT_EQ(at[floats], 1);
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < out.size(); ++i) {
    tensors.push_back(from_memory_order(shapes[i], out[i]));
  }
  return tensors;
}

class WinogradTest : public ::testing::TestWithParam<WinogradCase> {
 protected:
  std::vector<HostTensor> run(ConvolutionKind kind, const WinogradCode& code,
                              std::size_t parts = 1) const {
    const auto kernel = make_winograd_cpu(kind, problem_, code, parts);
    if (kind == kForward) return skyline::run(*kernel, operands_.list(), {problem_.y});
    if (kind == kGradInput) {
      return skyline::run(*kernel, {operands_.weight, grad_output_}, {GetParam().x});
    }
    std::vector<Shape> outputs = {GetParam().weight};
    if (GetParam().bias) outputs.push_back(operands_.bias.shape);
    return skyline::run(*kernel, {operands_.x, grad_output_}, outputs);
  }

  const Conv2dProblem problem_ = problem_of(GetParam());
  const ConvOperands operands_{GetParam().x, GetParam().weight, GetParam().bias, kWinogradSeed};
  const HostTensor grad_output_ = random_tensor(problem_.y, kWinogradSeed, 3);
};

// The largest errors are twice those of oneDNN's direct kernels.
TEST_P(WinogradTest, EqualsTheReferenceInEveryElement) {
  constexpr double kTolerance = 4e-6;
  const auto expected =
      reference::conv2d_gradients(operands_.x, operands_.weight, grad_output_, GetParam().params);
  HostTensor y =
      reference::conv2d(operands_.x, operands_.weight, operands_.bias, GetParam().params);
  if (GetParam().params.relu) y = reference::relu(y);
  for (const WinogradCode* code : winograd_codes(problem_)) {
    SCOPED_TRACE(code->width);
    expect_close("y", run(kForward, *code)[0], y, kTolerance);
    expect_close("grad_x", run(kGradInput, *code)[0], expected.x, kTolerance);
    const auto gradients = run(kGradWeight, *code);
    expect_close("grad_weight", gradients[0], expected.weight, kTolerance);
    if (GetParam().bias) expect_close("grad_bias", gradients[1], expected.bias, kTolerance);
  }
}

TEST_P(WinogradTest, WritesTheSameBitsOverItsImages) {
  const bool same_size = GetParam().x == problem_.y && problem_.y[1] <= 256;
  const int threads_before = omp_get_max_threads();
  for (const WinogradCode* code : winograd_codes(problem_)) {
    EXPECT_FALSE(make_winograd_cpu(kGradInput, problem_, *code)->overwritten_input());
    for (const auto& [threads, parts] :
         {std::pair(1, 1u), {2, 1u}, {3, 1u}, {kMostThreads, 1u}, {1, 5u}}) {
      omp_set_num_threads(threads);
      const auto kernel = make_winograd_cpu(kForward, problem_, *code, parts);
      ASSERT_EQ(kernel->overwritten_input().has_value(), same_size);
      if (!same_size) continue;
      const auto apart = skyline::run(*kernel, operands_.list(), {problem_.y});
      const auto over = skyline::run(*kernel, operands_.list(), {problem_.y}, 0);
      EXPECT_EQ(over[0].values, apart[0].values) << threads << " " << parts;
    }
  }
  omp_set_num_threads(threads_before);
}

TEST_P(WinogradTest, GivesTheSameBitsOnAnyNumberOfThreadsAndParts) {
  const int threads_before = omp_get_max_threads();
  for (const WinogradCode* code : winograd_codes(problem_)) {
    for (const ConvolutionKind kind : kKinds) {
      omp_set_num_threads(1);
      const auto expected = run(kind, *code);
      for (const auto& [threads, parts] : {std::pair(2, 1u), {3, 1u}, {1, 5u}}) {
        omp_set_num_threads(threads);
        const auto results = run(kind, *code, parts);
        for (std::size_t i = 0; i < results.size(); ++i) {
          EXPECT_EQ(results[i].values, expected[i].values)
              << code->width << convolution_name(kind) << threads << parts;
        }
      }
    }
  }
  omp_set_num_threads(threads_before);
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradTest, ::testing::ValuesIn(kCases),
                         [](const auto& of) { return "case_" + std::to_string(of.index); });

TEST(Winograd, PassesNanOnThroughTheRelu) {
  const WinogradCase c{{1, 3, 4, 4}, {2, 3, 3, 3}, {.padding = 1, .relu = true}, false};
  ConvOperands operands(c.x, c.weight, false, kWinogradSeed);
  operands.x.values[0] = std::numeric_limits<double>::quiet_NaN();
  for (const WinogradCode* code : winograd_codes(problem_of(c))) {
    const auto kernel = make_winograd_cpu(kForward, problem_of(c), *code);
    EXPECT_TRUE(std::isnan(run(*kernel, operands.list(), {{1, 2, 4, 4}})[0][0]));
  }
}

// A batch is computed in rounds of about as many tiles, which share a workspace.
TEST(Winograd, NeedsHardlyMoreForALargerBatch) {
  const auto problem = [](std::int64_t images) {
    return problem_of({{images, 64, 56, 56}, {64, 64, 3, 3}, {.padding = 1}});
  };
  for (const WinogradCode* code : winograd_codes(problem(1))) {
    for (const ConvolutionKind kind : kKinds) {
      const auto workspace = [&](std::int64_t images) {
        return make_winograd_cpu(kind, problem(images), *code)->workspace_bytes();
      };
      EXPECT_LT(4 * workspace(512), 5 * workspace(8)) << convolution_name(kind);
    }
  }
}

}  // namespace
}  // namespace skyline
