// Tests the CPU's engines of convolutions and how they are chosen.
#include "framework/ops/connection/conv2d_engines_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "framework/engines/engine_choices.h"
#include "framework/lanes/lane_runner.h"
#include "framework/lanes/wide_op.h"
#include "framework/ops/connection/winograd_cpu.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/panel_products.h"
#include "tests/framework/error_of.h"
#include "tests/framework/ops/connection/conv_operands.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/conv2d.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using enum ConvolutionEngine;
using enum ConvolutionKind;

constexpr std::uint64_t kEngineSeed = 21;
constexpr ConvolutionKind kEngineKinds[] = {kForward, kGradInput, kGradWeight};

struct EngineCase {
  const char* name;
  Shape x, weight;
  Conv2dParams params = {};
  bool bias = true;
  ConvolutionEngine also = kDirect;  // the engine that has it beside kDirect
};

void PrintTo(const EngineCase& c, std::ostream* out) { *out << c.name; }

// Both have more tiles than a round, the first also in each of eight shares.
const Shape kOfRounds = runs_all_cases() ? Shape{5, 32, 44, 44} : Shape{3, 32, 28, 28};

// Channels that are no multiple of a vector's, images that are no multiple of Winograd's tiles.
const EngineCase kEngineCases[] = {
    {"plain", {2, 16, 8, 8}, {16, 16, 3, 3}, {.padding = 1}, true, kWinograd},
    {"without_bias", {3, 32, 14, 14}, {48, 32, 3, 3}, {.padding = 1}, false, kWinograd},
    {"uneven_images", {2, 64, 9, 13}, {32, 64, 3, 3}, {.padding = 1}, true, kWinograd},
    {"uneven_padding", {1, 32, 11, 7}, {16, 32, 3, 3}, {.padding = {0, 1}}, false, kWinograd},
    {"uneven_channels", {2, 17, 7, 5}, {19, 17, 3, 3}, {.padding = 1}, true, kWinograd},
    {"deep", {1, 96, 7, 7}, {112, 96, 3, 3}, {.padding = 1}, false, kWinograd},
    {"rounds", kOfRounds, {32, 32, 3, 3}, {.padding = 1}, true, kWinograd},
    {"stride_2", {2, 16, 9, 9}, {16, 16, 3, 3}, {.stride = 2, .padding = 1}},
    {"five_by_five", {1, 16, 9, 9}, {16, 16, 5, 5}, {.padding = 2}, true, kWinograd},
    {"seven_by_seven", {1, 16, 9, 9}, {16, 16, 7, 7}, {.padding = 3}},
    {"groups", {2, 32, 6, 6}, {32, 16, 3, 3}, {.padding = 1, .groups = 2}},
    {"pointwise", {2, 4, 5, 7}, {6, 4, 1, 1}, {}, true, kProduct},
    {"pointwise_without_bias", {3, 64, 7, 7}, {32, 64, 1, 1}, {}, false, kProduct},
    {"pointwise_uneven", {1, 17, 3, 3}, {19, 17, 1, 1}, {}, false, kProduct},
    {"pointwise_large", {2, 8, 17, 19}, {301, 8, 1, 1}, {}, true, kProduct},
    {"pointwise_single", {1, 1, 1, 1}, {1, 1, 1, 1}, {}, false, kProduct},
    {"pointwise_stride_2", {2, 8, 5, 5}, {6, 8, 1, 1}, {.stride = 2}, false},
    {"pointwise_padded", {1, 8, 5, 5}, {6, 8, 1, 1}, {.padding = 1}, false},
    {"pointwise_groups", {2, 8, 3, 3}, {4, 2, 1, 1}, {.groups = 4}},
};

Conv2dProblem engine_problem(const EngineCase& c) {
  const TensorSpec inputs[] = {{c.x}, {c.weight}};
  return {c.x, c.weight, conv2d_op(c.params)->outputs(inputs)[0].spec.shape, c.params, c.bias};
}

// Chooses one engine for a convolution and those of its gradients that it has.
EngineChoices choices_of(const Conv2dProblem& problem, ConvolutionEngine engine) {
  EngineChoices choices;
  for (const ConvolutionKind kind : kEngineKinds) {
    const bool has = make_convolution_cpu(kind, problem, engine) != nullptr;
    choices.by_problem[std::string(convolution_name(kind)) + " " + problem.str()] = {
        .name = std::string(engine_name(has ? engine : kDirect))};
  }
  return choices;
}

std::shared_ptr<Compute> compute_with(EngineChoices& choices,
                                      CpuOptions::Engines others = CpuOptions::Engines::kByShape) {
  return std::make_shared<CpuCompute>(CpuOptions{.engines = others, .choices = &choices});
}

ConvOperands operands_of(const EngineCase& c) { return {c.x, c.weight, c.bias, kEngineSeed}; }

using CaseAndEngine = std::pair<EngineCase, ConvolutionEngine>;

std::vector<CaseAndEngine> all_cases() {
  std::vector<CaseAndEngine> all;
  for (const EngineCase& c : kEngineCases) {
    all.emplace_back(c, kDirect);
    if (c.also != kDirect) all.emplace_back(c, c.also);
  }
  return all;
}

class EnginesTest : public ::testing::TestWithParam<CaseAndEngine> {
 protected:
  const EngineCase& c() const { return GetParam().first; }
  ConvolutionEngine engine() const { return GetParam().second; }
  static constexpr double kTolerance = 5e-6;

  ConvOperands operands_{operands_of(c())};
  HostTensor grad_output_ = random_tensor(engine_problem(c()).y, kEngineSeed, 3);
  EngineChoices choices_ = choices_of(engine_problem(c()), engine());
  KernelRun run_{compute_with(choices_)};

  HostTensor expected_y() const {
    return reference::conv2d(operands_.x, operands_.weight, operands_.bias, c().params);
  }
};

TEST_P(EnginesTest, EqualsTheReferenceInEveryElement) {
  const auto [outputs, gradients] = run_(*conv2d_op(c().params), operands_.list(), grad_output_);
  const auto expected =
      reference::conv2d_gradients(operands_.x, operands_.weight, grad_output_, c().params);
  expect_close("y", outputs[0], expected_y(), kTolerance);
  expect_close("grad_x", gradients[0], expected.x, kTolerance);
  expect_close("grad_weight", gradients[1], expected.weight, kTolerance);
  if (c().bias) expect_close("grad_bias", gradients[2], expected.bias, kTolerance);
}

TEST_P(EnginesTest, ComputesTheReluToo) {
  Conv2dParams params = c().params;
  params.relu = true;
  Conv2dProblem problem = engine_problem(c());
  problem.params.relu = true;
  choices_ = choices_of(problem, engine());
  const auto outputs = run_.forward(*conv2d_op(params), operands_.list());
  expect_close("y", outputs[0], reference::relu(expected_y()), kTolerance);
}

TEST_P(EnginesTest, RepeatsBitForBit) {
  const auto first = run_(*conv2d_op(c().params), operands_.list(), grad_output_);
  const auto second = run_(*conv2d_op(c().params), operands_.list(), grad_output_);
  EXPECT_EQ(first.outputs[0].values, second.outputs[0].values);
  for (std::size_t i = 0; i < first.gradients.size(); ++i) {
    EXPECT_EQ(first.gradients[i].values, second.gradients[i].values) << "gradient " << i;
  }
}

// Each lane of a wide op computes some of the images.
TEST_P(EnginesTest, GivesTheSameBitsOnAnyNumberOfLanes) {
  EngineCase more = c();
  more.x = {7, c().x[1], c().x[2], c().x[3]};
  EngineChoices choices = choices_of(engine_problem(more), engine());
  const ConvOperands operands = operands_of(more);
  const HostTensor gradient = random_tensor(engine_problem(more).y, kEngineSeed, 3);
  const auto expected =
      KernelRun(compute_with(choices))(*conv2d_op(more.params), operands.list(), gradient);
  for (const std::size_t lanes : {2, 3, 8}) {
    const auto compute =
        std::make_shared<CpuCompute>(CpuOptions{.choices = &choices, .lanes = lanes});
    KernelRun run(compute);
    for (const bool is_wide : {false, true}) {
      std::optional<WideOp> wide;
      if (is_wide) wide.emplace(lane_runner(*compute)->queue());
      const auto results = run(*conv2d_op(more.params), operands.list(), gradient);
      EXPECT_EQ(results.outputs[0].values, expected.outputs[0].values) << lanes << is_wide;
      for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
        EXPECT_EQ(results.gradients[i].values, expected.gradients[i].values)
            << lanes << is_wide << ", gradient " << i;
      }
    }
  }
}

TEST_P(EnginesTest, IsNeverAReference) {
  for (const ConvolutionKind kind : kEngineKinds) {
    const auto kernel = make_convolution_cpu(kind, engine_problem(c()), engine());
    if (!kernel) continue;
    const auto* library = dynamic_cast<const DnnlKernel*>(kernel.get());
    ASSERT_EQ(library == nullptr, engine() == kWinograd);
    if (library == nullptr) continue;
    for (const std::string& name : library->implementations()) {
      EXPECT_THAT(name, Not(HasSubstr("ref")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EnginesTest, ::testing::ValuesIn(all_cases()), [](const auto& of) {
  return of.param.first.name + ("_" + std::string(engine_name(of.param.second)));
});

TEST(Engines, HaveTheShapesThatTheyName) {
  for (const EngineCase& c : kEngineCases) {
    const Conv2dProblem problem = engine_problem(c);
    for (const ConvolutionKind kind : kEngineKinds) {
      const auto has = [&](ConvolutionEngine engine) {
        return make_convolution_cpu(kind, problem, engine) != nullptr;
      };
      EXPECT_TRUE(has(kDirect)) << c.name;
      EXPECT_EQ(has(kProduct), c.also == kProduct) << c.name;
      EXPECT_EQ(has(kWinograd), !winograd_codes(problem).empty()) << c.name;
      EXPECT_TRUE(c.also == kWinograd || !has(kWinograd)) << c.name;
    }
  }
}

// With AVX2, panels are full with 16 channels.
TEST(Engines, TheRuleTakesWinogradForFewChannelsWithAvx2) {
  const auto rule_of = [](std::int64_t channels, std::int64_t window) {
    const Shape weight{32, channels, window, window};
    return engine_by_shape(
        kForward, engine_problem({"", {32, channels, 32, 32}, weight, {.padding = 1}, false}));
  };
  EXPECT_EQ(rule_of(24, 3), runs_avx2() ? kWinograd : kDirect);
  EXPECT_EQ(rule_of(16, 3), runs_avx2() && !runs_avx512() ? kWinograd : kDirect);
  EXPECT_EQ(rule_of(15, 3), kDirect);
  EXPECT_EQ(rule_of(16, 5), kDirect);
}

std::string refusal_of(EngineChoices& choices, const EngineCase& c) {
  const TensorSpec inputs[] = {{c.x}, {c.weight}};
  return error_of([&] { conv2d_op(c.params)->kernel(*compute_with(choices), inputs); });
}

TEST(Engines, AnEngineThatTheShapeDoesNotHaveIsRefusedByName) {
  const EngineCase c{"", {2, 4, 5, 7}, {6, 4, 1, 1}, {}, false};
  const std::string problem = "conv2d " + engine_problem(c).str();
  EngineChoices choices;
  for (const std::string name : {"winograd", "fft", ""}) {
    choices.by_problem[problem].name = name;
    EXPECT_EQ(refusal_of(choices, c), "[engines] " + problem + ": got engine '" + name +
                                          "', expected one of: direct, product");
  }
}

TEST(Engines, MeasuredOnesAreKeptAndTakenAgain) {
  const EngineCase c{"", {2, 16, 8, 8}, {16, 16, 3, 3}, {.padding = 1}, false};
  EngineChoices choices;
  const auto compute = compute_with(choices, CpuOptions::Engines::kMeasured);
  const TensorSpec inputs[] = {{c.x}, {c.weight}};
  const auto workspace = [&] {
    return conv2d_op(c.params)->kernel(*compute, inputs)->workspace_bytes();
  };
  const std::size_t measured = workspace();
  ASSERT_EQ(choices.by_problem.size(), 1u);
  const EngineChoices first = choices;
  EXPECT_EQ(workspace(), measured);
  EXPECT_EQ(choices.by_problem, first.by_problem);
}

// Returns a convolution's result in inference; `held`: the program keeps the images.
HostTensor convolved(RecordedContext& run, const ConvOperands& of, bool held, bool& overwritten) {
  run.context.begin_step();
  const auto upload = [&](const HostTensor& tensor) {
    return run.context.upload({tensor.shape}, stored_values(tensor).data());
  };
  Tensor x = upload(of.x);
  const Tensor weight = upload(of.weight);
  const std::byte* const images = x.address();
  const Tensor kept = held ? x : Tensor();
  const Tensor y = conv2d(run.context, std::move(x), weight, {}, {.padding = 1});
  overwritten = y.address() == images;
  run.context.end_step();
  return from_memory_order(y.shape(), RecordedContext::values(y));
}

// Winograd's rounds read before they write; other engines do not.
TEST(Engines, WriteOverImagesWhereTheyCan) {
  const EngineCase c{"", {2, 24, 28, 28}, {24, 24, 3, 3}, {.padding = 1}, false};
  const ConvOperands operands = operands_of(c);
  for (const ConvolutionEngine engine : {kDirect, kWinograd}) {
    if (make_convolution_cpu(kForward, engine_problem(c), engine) == nullptr) continue;
    EngineChoices choices = choices_of(engine_problem(c), engine);
    RecordedContext run({.compute = compute_with(choices), .mode = Mode::kInference});
    bool over = false, beside = true;
    const HostTensor y = convolved(run, operands, false, over);
    EXPECT_EQ(over, engine == kWinograd);
    if (!over) {
      EXPECT_THAT(run.refusals(), HasSubstr("conv2d declares no input to write over"));
    }
    const HostTensor apart = convolved(run, operands, true, beside);
    EXPECT_FALSE(beside);
    EXPECT_EQ(y.values, apart.values);
    if (over) {
      EXPECT_THAT(run.refusals(), HasSubstr("input 0 is held by the program"));
    }
  }
}

TEST(Engines, ThoseAboveAStepsPeakAreDirect) {
  const EngineCase c{"", {16, 64, 56, 56}, {64, 64, 3, 3}, {.padding = 1}, false};
  const Conv2dProblem problem = engine_problem(c);
  EngineChoices choices;
  const CpuOptions options{.choices = &choices};
  const std::size_t by_shape = make_conv2d_grad_input_cpu(options, problem)->workspace_bytes();
  const std::size_t direct = make_convolution_cpu(kGradInput, problem, kDirect)->workspace_bytes();
  choices.above_peak[8] = {"conv2d_grad_input " + problem.str()};
  EXPECT_EQ(make_conv2d_grad_input_cpu(options, problem)->workspace_bytes(), by_shape);
  choices.above_peak[16] = {"conv2d_grad_input " + problem.str()};
  EXPECT_EQ(make_conv2d_grad_input_cpu(options, problem)->workspace_bytes(), direct);
}

TEST(Engines, AreTimedInTurns) {
  const std::vector<EngineTime> times =
      time_engines(kGradInput, engine_problem({"", {2, 16, 5, 7}, {16, 16, 1, 1}, {}, false}), 2);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].engine, kDirect);
  EXPECT_EQ(times[1].engine, kProduct);
  for (const EngineTime& time : times) EXPECT_GT(time.seconds, 0);
}

TEST(Engines, WithoutChoicesDirectMeansDirect) {
  const EngineCase c{"", {16, 64, 56, 56}, {256, 64, 1, 1}, {}, false};
  const Conv2dProblem problem = engine_problem(c);
  const CpuOptions options{.engines = CpuOptions::Engines::kDirect};
  EXPECT_EQ(make_conv2d_grad_input_cpu(options, problem)->workspace_bytes(),
            make_convolution_cpu(kGradInput, problem, kDirect)->workspace_bytes());
}

}  // namespace
}  // namespace skyline
