#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>

#include "framework/backward/backward_graph.h"
#include "framework/cuda/cublas/cublas_products.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/ops/connection/convolution_cuda.h"
#include "framework/ops/connection/cudnn/engines.h"
#include "framework/ops/loss/softmax.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "models/models.h"
#include "tests/cuda/described_card.h"
#include "tests/cuda_emulation/convolution_workspace.h"
#include "tests/framework/error_of.h"

// Tests cuDNN's engines for a card that is only described, and what else the libraries tell without
// a device. Runs are scripted: these functions stand in the place of the library's and of ours.

namespace {

std::function<cudnnStatus_t(int)> execute;  // status of the n-th run
int executed = 0;
std::function<std::optional<double>(const skyline::FoundEngine&)> seconds_of;

}  // namespace

extern "C" cudnnStatus_t CUDNNWINAPI cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t,
                                                         cudnnBackendDescriptor_t) {
  return execute(executed++);
}

namespace skyline {

EngineTimes time_engines(CudaCompute&, ConvolutionKind, const Conv2dProblem&,
                         std::span<const FoundEngine> engines) {
  EngineTimes times;
  for (const FoundEngine& engine : engines) {
    const std::optional<double> seconds = seconds_of(engine);
    times.engines.push_back({seconds.value_or(0), seconds ? "" : "[scripted] a failure"});
  }
  return times;
}

namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Runs one training step of a model as a dry run for `engines.card`; `engines` receives the
// choices.
Trace plan_step(const std::string& model_name, CudaOptions options, EngineChoices& engines) {
  options.plan_only = true;
  options.engines = &engines;
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recorder(pool);
  Context context(recorder, {.compute = make_cuda_compute(options), .dry_run = Emulation()});
  const ModelEntry& entry = find_model(model_name);
  const auto model = entry.make(context, entry.shape);
  const ModelShape& shape = model->shape();
  constexpr std::int64_t kImages = 8;
  context.begin_step();
  Prediction prediction = model->forward(
      context, context.upload({{kImages, shape.channels, shape.height, shape.width}}, nullptr));
  prediction.auxiliary.clear();
  Tensor labels = context.upload({{kImages}, DType::kInt32}, nullptr, "labels");
  backward(context,
           softmax_cross_entropy(context, std::move(prediction.logits), std::move(labels)));
  context.end_step();
  return recorder.last_step();
}

EngineChoices described_card() { return {.card = tests::kDescribedCard}; }

// The problem that the key of a choice names.
struct KeyedProblem {
  ConvolutionKind kind = ConvolutionKind::kForward;
  Conv2dProblem problem;
};

KeyedProblem problem_of(const std::string& key) {
  char op[32], bias[8];
  Conv2dParams params;
  std::int64_t x[4], weight[4];
  const std::size_t tensors = key.find(" x="), groups = key.find(" groups=");
  params.relu = key.find(" relu ") != std::string::npos;
  if (groups != std::string::npos) params.groups = std::stoi(key.substr(groups + 8));
  const bool read =
      tensors != std::string::npos &&
      std::sscanf(key.c_str(), "%31s stride=%dx%d padding=%dx%d", op, &params.stride.height,
                  &params.stride.width, &params.padding.height, &params.padding.width) == 5 &&
      std::sscanf(key.c_str() + tensors,
                  " x=[%ld, %ld, %ld, %ld] weight=[%ld, %ld, %ld, %ld] bias=%7s", &x[0], &x[1],
                  &x[2], &x[3], &weight[0], &weight[1], &weight[2], &weight[3], bias) == 9;
  if (!read) throw std::runtime_error("key " + key);
  const TensorSpec specs[] = {{{x[0], x[1], x[2], x[3]}},
                              {{weight[0], weight[1], weight[2], weight[3]}}};
  const std::string name = op;
  return {.kind = name == "conv2d"              ? ConvolutionKind::kForward
                  : name == "conv2d_grad_input" ? ConvolutionKind::kGradInput
                                                : ConvolutionKind::kGradWeight,
          .problem = {specs[0].shape, specs[1].shape,
                      conv2d_op(params)->outputs(specs).front().spec.shape, params,
                      std::string(bias) == "true"}};
}

// cuDNN for the card of `engines`, without a device.
struct DescribedLibrary : CudnnLibrary {
  explicit DescribedLibrary(EngineChoices& engines)
      : CudnnLibrary(nullptr, {.engines = &engines, .plan_only = true}) {}
};

std::vector<cudnnBackendNumericalNote_t> notes_of_engine(const CudnnDescriptor& graph,
                                                         const CudnnLibrary& library,
                                                         std::int64_t number) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number);
  engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, library.card());
  engine.finalize();
  return engine.numerical_notes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
}

// cuDNN takes milliseconds to answer, and several tests ask about the same engines.
const std::vector<cudnnBackendNumericalNote_t>& notes_of(const std::string& key,
                                                         const EngineChoice& choice) {
  static std::map<std::tuple<std::string, bool, std::int64_t>,
                  std::vector<cudnnBackendNumericalNote_t>>
      known;
  const auto [found, is_new] = known.try_emplace({key, choice.finishes, choice.engine});
  if (is_new) {
    const auto [kind, problem] = problem_of(key);
    EngineChoices engines = described_card();
    const DescribedLibrary library(engines);
    found->second = notes_of_engine(convolution_graph(kind, problem, choice.finishes, nullptr),
                                    library, choice.engine);
  }
  return found->second;
}

// Returns how many of the chosen engines have that note.
std::ptrdiff_t count_with(cudnnBackendNumericalNote_t note, const EngineChoices& engines) {
  return std::ranges::count_if(engines.by_problem, [note](const auto& entry) {
    return std::ranges::count(notes_of(entry.first, entry.second), note) > 0;
  });
}

void expect_fp32(const EngineChoices& engines) {
  EXPECT_EQ(count_with(CUDNN_NUMERICAL_NOTE_TENSOR_CORE, engines), 0);
  EXPECT_EQ(count_with(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, engines), 0);
  EXPECT_EQ(count_with(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, engines), 0);
}

class EnginesTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Networks, EnginesTest,
                         ::testing::Values("alexnet", "googlenet", "resnet50", "mobilenet_v2"));

TEST_P(EnginesTest, ComputeInFp32AndRepeatTheirChoices) {
  EngineChoices engines = described_card();
  const Trace trace = plan_step(GetParam(), {}, engines);
  EXPECT_GE(engines.by_problem.size(), 14u);
  expect_fp32(engines);
  // With the file nothing is chosen again, and every request is the same.
  EngineChoices again = EngineChoices::from_json(engines.to_json(), "plan.json");
  EXPECT_EQ(plan_step(GetParam(), {}, again).blocks, trace.blocks);
  EXPECT_EQ(again.to_json(), engines.to_json());
}

// A choice makes the plan that it was chosen with: the plan itself reports the same workspace.
TEST_P(EnginesTest, ChoicesMakeTheirPlansAgain) {
  EngineChoices engines = described_card();
  plan_step(GetParam(), {.tf32 = true}, engines);
  const DescribedLibrary library(engines);
  for (const auto& [key, choice] : engines.by_problem) {
    const auto [kind, problem] = problem_of(key);
    const CudnnDescriptor graph = convolution_graph(kind, problem, choice.finishes, nullptr);
    EXPECT_EQ(engine_plan(graph, library, choice).integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE),
              static_cast<std::int64_t>(choice.workspace_bytes))
        << key;
  }
}

TEST_P(EnginesTest, DeterministicOnesGiveTheSameBits) {
  EngineChoices engines = described_card();
  plan_step(GetParam(), {.deterministic = true}, engines);
  expect_fp32(engines);
  EXPECT_EQ(count_with(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, engines), 0);
}

TEST_P(EnginesTest, KeepToTheWorkspaceThatTheyMayAskFor) {
  for (const std::size_t limit : {std::size_t{8} << 20, std::size_t{0}}) {
    EngineChoices engines = described_card();
    plan_step(GetParam(), {.workspace_bytes = limit}, engines);
    for (const auto& [key, choice] : engines.by_problem) {
      EXPECT_LE(choice.workspace_bytes, limit) << key;
    }
  }
}

TEST(EnginesTest, TensorCoresComputeOnlyWhereTf32IsAllowed) {
  EngineChoices engines = described_card();
  plan_step("alexnet", {.tf32 = true}, engines);
  EXPECT_GT(count_with(CUDNN_NUMERICAL_NOTE_TENSOR_CORE, engines), 0);
  EXPECT_EQ(count_with(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, engines), 0);
  EXPECT_EQ(count_with(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, engines), 0);
}

// The emulated library asks for as much as the described card's engines, so that plans and guards
// see workspaces of that size.
TEST(EnginesTest, AskForNoMoreThanTheEmulatedOnes) {
  EngineChoices engines = described_card();
  for (const char* model : {"alexnet", "googlenet", "resnet50"}) plan_step(model, {}, engines);
  for (const auto& [key, choice] : engines.by_problem) {
    const auto [kind, problem] = problem_of(key);
    EXPECT_LE(choice.workspace_bytes, cuda_emulation::convolution_workspace_bytes(kind, problem))
        << key;
  }
  const Conv2dProblem strides{.x = {8, 16, 32, 32},
                              .weight = {32, 16, 3, 3},
                              .y = {8, 32, 16, 16},
                              .params = {.stride = 2, .padding = 1}};
  const Conv2dProblem groups{.x = {8, 96, 27, 27},
                             .weight = {256, 48, 5, 5},
                             .y = {8, 256, 27, 27},
                             .params = {.padding = 2, .groups = 2}};
  CudaCompute compute({.engines = &engines, .plan_only = true});
  constexpr auto kKind = ConvolutionKind::kGradInput;
  for (const Conv2dProblem& problem : {strides, groups}) {
    EXPECT_EQ(make_convolution(compute, kKind, problem)->workspace_bytes(),
              cuda_emulation::convolution_workspace_bytes(kKind, problem));
  }
}

// Options are part of the key: a choice made with other options is not found.
TEST(EnginesTest, ChoicesAreOfTheirOptions) {
  EngineChoices engines = described_card();
  plan_step("alexnet", {}, engines);
  const std::size_t before = engines.by_problem.size();
  plan_step("alexnet", {.deterministic = true}, engines);
  EXPECT_EQ(engines.by_problem.size(), 2 * before);
}

Conv2dProblem small_problem() {
  return {.x = {2, 4, 8, 8}, .weight = {8, 4, 3, 3}, .y = {2, 8, 6, 6}, .params = {}};
}

// A convolution with square windows and images, for a batch of 128.
Conv2dProblem square_problem(std::int64_t in, std::int64_t side, std::int64_t out, int window,
                             const Conv2dParams& params) {
  const TensorSpec specs[] = {{{128, in, side, side}}, {{out, in, window, window}}};
  return {specs[0].shape, specs[1].shape, conv2d_op(params)->outputs(specs).front().spec.shape,
          params};
}

// Returns the engines of a convolution of the described card, its own bias and relu left out.
std::vector<EngineChoice> engines_of(ConvolutionKind kind, const Conv2dProblem& problem,
                                     const CudaOptions& options = {}, std::size_t most = 8) {
  EngineChoices engines = described_card();
  const DescribedLibrary library(engines);
  std::vector<EngineChoice> choices;
  for (auto& found :
       find_engines(convolution_graph(kind, problem, false, nullptr), library, options, most)
           .engines) {
    choices.push_back(std::move(found.choice));
  }
  return choices;
}

// In fp32 the heuristics' first forward engine copies x and y into another layout, which is right:
// the one that keeps layouts takes three times as long on an H100. Within a limit, it computes.
TEST(EnginesTest, TheHeuristicsOrderIsKept) {
  const Conv2dProblem problem = square_problem(64, 56, 64, 3, {.padding = 1});
  const std::size_t copies = 2 * TensorSpec{problem.x}.bytes();
  const std::vector<EngineChoice> choices = engines_of(ConvolutionKind::kForward, problem);
  ASSERT_GE(choices.size(), 3u);
  EXPECT_GE(choices[0].workspace_bytes, copies);
  const CudaOptions limited{.workspace_bytes = 0};
  const auto within = engines_of(ConvolutionKind::kForward, problem, limited);
  ASSERT_GE(within.size(), 2u) << "one and the reference";
  EXPECT_EQ(within[0].workspace_bytes, 0u);
}

// Without a rival within the limit, it computes; else it is the last.
TEST(EnginesTest, TheReferenceIsTheLast) {
  const Conv2dProblem problem = square_problem(64, 56, 64, 3, {.padding = 1});
  EngineChoices engines = described_card();
  const DescribedLibrary library(engines);
  for (const ConvolutionKind kind :
       {ConvolutionKind::kForward, ConvolutionKind::kGradInput, ConvolutionKind::kGradWeight}) {
    const auto graph = convolution_graph(kind, problem, false, nullptr);
    const auto found = find_engines(graph, library, {}, 100).engines;
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found.back().is_reference);
    EXPECT_EQ(std::ranges::count(found, true, &FoundEngine::is_reference), 1);
  }
  const auto only =
      find_engines(convolution_graph(ConvolutionKind::kGradInput, problem, false, nullptr), library,
                   {.workspace_bytes = 0}, 100);
  ASSERT_EQ(only.engines.size(), 1u);
  EXPECT_TRUE(only.engines[0].is_reference);
}

// Both heuristics offer some of them. An engine with knobs of its own choice is another.
TEST(EnginesTest, NoneIsFoundTwice) {
  const Conv2dProblem problem = square_problem(64, 56, 64, 3, {.padding = 1});
  for (const ConvolutionKind kind :
       {ConvolutionKind::kForward, ConvolutionKind::kGradInput, ConvolutionKind::kGradWeight}) {
    for (const bool tf32 : {false, true}) {
      std::map<std::int64_t, std::set<decltype(EngineChoice::knobs)>> knobs;
      for (const EngineChoice& choice : engines_of(kind, problem, {.tf32 = tf32}, 100)) {
        EXPECT_TRUE(knobs[choice.engine].insert(choice.knobs).second) << choice.engine;
      }
    }
  }
  const auto found = engines_of(ConvolutionKind::kForward, problem);
  const auto keeps = [](const EngineChoice& choice) { return choice.engine == 28; };
  EXPECT_EQ(std::ranges::count_if(found, keeps), 2) << "with knobs and without";
}

bool on_tensor_cores(const std::string& key, const EngineChoice& choice) {
  return std::ranges::count(notes_of(key, choice), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) > 0;
}

// Their engines on tensor cores copy the input, which has 3 channels.
TEST(EnginesTest, FirstLayersKeepTheTensorCores) {
  Conv2dProblem alexnet = square_problem(3, 227, 96, 11, {.stride = 4});
  Conv2dProblem googlenet = square_problem(3, 224, 64, 7, {.stride = 2, .padding = 3});
  const Conv2dProblem resnet = googlenet;
  const Conv2dProblem inception_resnet = square_problem(3, 299, 32, 3, {.stride = 2});
  alexnet.bias = alexnet.params.relu = googlenet.bias = googlenet.params.relu = true;
  EngineChoices engines = described_card();
  CudaCompute compute({.tf32 = true, .engines = &engines, .plan_only = true});
  for (const Conv2dProblem& problem : {alexnet, googlenet, resnet, inception_resnet}) {
    make_convolution(compute, ConvolutionKind::kForward, problem);
  }
  for (const Conv2dProblem& problem : {alexnet, googlenet, resnet}) {
    make_convolution(compute, ConvolutionKind::kGradWeight, problem);
  }
  EXPECT_EQ(engines.by_problem.size(), 6u) << "those of googlenet and resnet are one gradient";
  for (const auto& [key, choice] : engines.by_problem) {
    EXPECT_TRUE(on_tensor_cores(key, choice)) << key;
  }
}

// Nor does any other layer leave them.
TEST(EnginesTest, AllLayersOfResnetKeepTheTensorCores) {
  EngineChoices engines = described_card();
  plan_step("resnet50", {.tf32 = true}, engines);
  for (const auto& [key, choice] : engines.by_problem) {
    EXPECT_TRUE(on_tensor_cores(key, choice)) << key;
  }
}

// Those whose gradient of x is computed without cuDNN's engines for it.
std::vector<Conv2dProblem> gradients_of_inputs() {
  return {{.x = {64, 64, 56, 56},
           .weight = {192, 64, 3, 3},
           .y = {64, 192, 56, 56},
           .params = {.padding = 1}},
          {.x = {64, 256, 56, 56},
           .weight = {512, 256, 1, 1},
           .y = {64, 512, 28, 28},
           .params = {.stride = 2}}};
}

std::size_t bytes_of_smaller_image(const Conv2dProblem& problem) {
  return std::min(TensorSpec{problem.x}.bytes(), TensorSpec{problem.y}.bytes());
}

// This is why they are computed otherwise. With TF32, an engine keeps layouts.
TEST(EnginesTest, GradientsOfInputsCopyImagesInFp32) {
  EngineChoices engines = described_card();
  const DescribedLibrary library(engines);
  for (const Conv2dProblem& problem : gradients_of_inputs()) {
    const auto graph = convolution_graph(ConvolutionKind::kGradInput, problem, false, nullptr);
    const auto found = find_engines(graph, library, {}, 100);
    EXPECT_GE(found.engines.size(), 2u);
    for (const auto& [choice, plan, is_reference] : found.engines) {
      if (choice.workspace_bytes >= bytes_of_smaller_image(problem)) continue;
      EXPECT_THAT(notes_of_engine(graph, library, choice.engine),
                  Contains(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP))
          << problem.str();
    }
    const auto rounded = find_engines(graph, library, {.tf32 = true}, 1);
    EXPECT_LT(rounded.engines.at(0).choice.workspace_bytes, bytes_of_smaller_image(problem));
  }
}

// Within the limit, cuDNN's own gradient would be its reference's.
TEST(EnginesTest, GradientsOfInputsKeepLayoutsWithinALimit) {
  for (const auto& limit : {std::optional<std::size_t>(), {std::size_t{64} << 20}}) {
    EngineChoices engines = described_card();
    CudaCompute compute({.workspace_bytes = limit, .engines = &engines, .plan_only = true});
    for (const Conv2dProblem& problem : gradients_of_inputs()) {
      const bool copies = !limit && problem.params.stride == Size2d(1);
      EXPECT_EQ(make_conv2d_grad_input_cuda(compute, problem)->workspace_bytes() >=
                    bytes_of_smaller_image(problem),
                copies);
    }
    for (const auto& [key, choice] : engines.by_problem) {
      EXPECT_THAT(key, StartsWith("conv2d stride"));
      EXPECT_THAT(notes_of(key, choice), Not(Contains(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP)));
    }
  }
}

// The limit is for the sake of a step's peak. The reference would take a hundred times as long.
TEST(EnginesTest, LimitsOfProblemsAreKeptWhereAnEngineCan) {
  const Conv2dProblem problem = square_problem(64, 56, 64, 3, {.padding = 1});
  for (const auto& [kind, can] :
       {std::pair(ConvolutionKind::kForward, true), {ConvolutionKind::kGradInput, false}}) {
    EngineChoices engines = described_card();
    const CudaOptions options{.engines = &engines, .plan_only = true};
    CudaCompute compute(options);
    const auto bytes = [&] { return make_convolution(compute, kind, problem)->workspace_bytes(); };
    const std::size_t first = bytes();
    engines.most_workspace_bytes[engines.by_problem.begin()->first] = first - 1;
    EXPECT_EQ(bytes(), first) << "chosen before";
    engines.by_problem.clear();
    EXPECT_EQ(bytes() < first, can);
  }
}

TEST(EnginesTest, AGivenChoiceIsUsedAsItIs) {
  EngineChoices engines = described_card();
  const CudaOptions options{.engines = &engines, .plan_only = true};
  CudaCompute compute(options);
  make_convolution(compute, ConvolutionKind::kForward, small_problem());
  ASSERT_EQ(engines.by_problem.size(), 1u);
  engines.by_problem.begin()->second.workspace_bytes = 12345;
  EXPECT_EQ(
      make_convolution(compute, ConvolutionKind::kForward, small_problem())->workspace_bytes(),
      12345u);
}

Conv2dProblem finished_problem() {
  Conv2dProblem problem = small_problem();
  problem.params.relu = problem.bias = true;
  return problem;
}

// The choice for finished_problem() when engines take `seconds`, which `told` must agree with.
EngineChoice measured_choice(std::function<std::optional<double>(const FoundEngine&)> seconds) {
  EngineChoices engines = described_card();
  std::vector<TimedEngines> told;
  CudaCompute compute({.measured = true,
                       .on_timed = [&](const TimedEngines& timed) { told.push_back(timed); },
                       .engines = &engines,
                       .plan_only = true});
  seconds_of = std::move(seconds);
  const auto convolution = make_convolution(compute, ConvolutionKind::kForward, finished_problem());
  const EngineChoice choice = engines.by_problem.begin()->second;
  EXPECT_EQ(convolution->finishes(), choice.finishes);
  EXPECT_EQ(told.size(), 1u);
  const TimedEngines& timed = told.at(0);
  EXPECT_EQ(timed.problem, engines.by_problem.begin()->first);
  EXPECT_EQ(timed.engines.at(timed.chosen).choice, choice);
  for (const auto& [engine, failure] : timed.engines)
    EXPECT_EQ(failure.empty(), engine.seconds > 0);
  EXPECT_EQ(EngineChoices::from_json(engines.to_json(), "engines.json").by_problem.begin()->second,
            choice);
  return choice;
}

TEST(EnginesTest, TheFastestByMeasurementIsTakenAndKept) {
  int timed = 0, apart = 0;
  const EngineChoice last = measured_choice([&](const FoundEngine& engine) {
    EXPECT_FALSE(engine.is_reference);
    apart += engine.choice.finishes ? 0 : 1;
    return 1.0 / ++timed;
  });
  EXPECT_GT(timed, 2);
  EXPECT_LE(timed, 16);
  EXPECT_GT(apart, 0);
  EXPECT_FALSE(last.finishes);
  EXPECT_DOUBLE_EQ(last.seconds, 1.0 / timed);
  int again = 0;
  const EngineChoice second = measured_choice(
      [&](const FoundEngine&) { return ++again == 2 ? std::optional(0.5) : std::nullopt; });
  EXPECT_DOUBLE_EQ(second.seconds, 0.5);
  EXPECT_TRUE(second.finishes);
}

// The device refused the operands.
TEST(EnginesTest, WithoutMeasurementsTheFirstIsTaken) {
  EngineChoices engines = described_card();
  CudaCompute compute({.engines = &engines, .plan_only = true});
  make_convolution(compute, ConvolutionKind::kForward, finished_problem());
  EXPECT_EQ(measured_choice([](const FoundEngine&) { return std::nullopt; }),
            engines.by_problem.begin()->second);
}

TEST(EnginesTest, AnEngineThatFailsHasAnother) {
  EngineChoices engines = described_card();
  CudaCompute compute({.engines = &engines, .plan_only = true});
  const auto convolution = make_convolution(compute, ConvolutionKind::kForward, small_problem());
  const EngineChoice first = engines.by_problem.begin()->second;
  const ConvolutionOperands operands{.first = reinterpret_cast<const float*>(4096),
                                     .second = reinterpret_cast<const float*>(8192),
                                     .result = reinterpret_cast<float*>(16384)};
  executed = 0;
  execute = [](int run) { return run == 0 ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS; };
  convolution->run(operands);
  convolution->run(operands);
  EXPECT_EQ(executed, 3) << "the second run took the second engine at once";
  const EngineChoice second = engines.by_problem.begin()->second;
  EXPECT_FALSE(second.engine == first.engine && second.knobs == first.knobs);
  EXPECT_EQ(second.workspace_bytes, first.workspace_bytes) << "what the step requests";
  execute = [](int) { return CUDNN_STATUS_EXECUTION_FAILED; };
  EXPECT_THAT(error_of([&] { convolution->run(operands); }),
              StartsWith("[conv2d] " + small_problem().str() +
                         ": [cudnnBackendExecute] CUDNN_STATUS_EXECUTION_FAILED"));
  EXPECT_GT(executed, 4);
}

std::string refusal_of(EngineChoices* engines) {
  return error_of([=] { make_cuda_compute({.engines = engines, .plan_only = true}); });
}

TEST(EnginesTest, RefusalsNameTheConvolution) {
  EngineChoices engines = described_card();
  CudaCompute compute({.engines = &engines, .plan_only = true});
  Conv2dProblem wrong = small_problem();
  wrong.y = {2, 8, 5, 5};
  EXPECT_THAT(error_of([&] { make_convolution(compute, ConvolutionKind::kGradInput, wrong); }),
              StartsWith("[conv2d_grad_input] " + wrong.str() +
                         ": [cudnnBackendFinalize] CUDNN_STATUS_BAD_PARAM"));
}

// All its functions are found; without a device it cannot start.
TEST(CublasLibraryTest, SaysByNameWhyItCannotStart) {
  EXPECT_THAT(error_of([] { CublasLibrary library; }),
              AnyOf("no error", "[cublasLtCreate] CUBLAS_STATUS_NOT_INITIALIZED"));
}

TEST(EnginesTest, PlansThatDoNotFitAreRefusedAtTheStart) {
  EngineChoices engines = described_card();
  engines.cudnn = 90100;
  engines.by_problem["conv2d a"] = {};
  EXPECT_THAT(refusal_of(&engines), HasSubstr("[plan] cuDNN, got a plan for version 90100"));
  EngineChoices empty;
  EXPECT_EQ(refusal_of(&empty), "[--device cuda] no device, and no plan that describes a card");
  EngineChoices unknown{.card = "{}"};
  EXPECT_THAT(refusal_of(&unknown), HasSubstr("[plan] card"));
}

}  // namespace
}  // namespace skyline
