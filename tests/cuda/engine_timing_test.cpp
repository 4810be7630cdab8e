#include "framework/ops/connection/cudnn/engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/cuda/cuda_libraries.h"
#include "tests/cuda/described_card.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/framework/error_of.h"

// Times engines on the emulated device. What they do there is scripted: this function stands in the
// place of the library's.

namespace cuda_emulation {
// Declared again, because the emulated runtime's header cannot stand beside cuDNN's.
cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work);
}  // namespace cuda_emulation

namespace {

std::map<cudnnBackendDescriptor_t, std::function<cudnnStatus_t()>> script;  // by plan
const std::byte* workspace = nullptr;                                       // of the last run

}  // namespace

extern "C" cudnnStatus_t CUDNNWINAPI cudnnBackendExecute(cudnnHandle_t,
                                                         cudnnBackendDescriptor_t plan,
                                                         cudnnBackendDescriptor_t addresses) {
  std::int64_t count = 0;
  cudnnBackendGetAttribute(addresses, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                           &count, &workspace);
  return script.at(plan)();
}

namespace skyline {

// Libraries of an emulated device: cuDNN for a described card, no cuBLAS.
CudaLibraries& CudaCompute::libraries() {
  if (!libraries_) libraries_ = std::make_shared<CudaLibraries>(stream(), options_);
  return *libraries_;
}
CudnnLibrary& CudaLibraries::cudnn() {
  if (!cudnn_) {
    cudnn_ = std::make_unique<CudnnLibrary>(
        nullptr, CudaOptions{.engines = options_.engines, .plan_only = true});
  }
  return *cudnn_;
}
CublasProducts::~CublasProducts() = default;

namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Lt;
using testing::StartsWith;

Conv2dProblem small_problem() {
  return {.x = {2, 4, 8, 8}, .weight = {8, 4, 3, 3}, .y = {2, 8, 6, 6}, .params = {}};
}

class EngineTiming : public testing::Test {
 protected:
  void SetUp() override { script.clear(); }

  // Adds an engine that enqueues as much work, then returns a status.
  void add(int work, cudnnStatus_t status = CUDNN_STATUS_SUCCESS) {
    add([=, this] {
      for (int i = 0; i < work; ++i) enqueue([] {});
      return status;
    });
  }
  void add(std::function<cudnnStatus_t()> run) {
    engines_.push_back({.choice = {.engine = 40 + std::ssize(engines_), .workspace_bytes = 1000},
                        .plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)});
    script[engines_.back().plan.get()] = std::move(run);
  }
  void enqueue(std::function<void()> work) {
    cuda_emulation::enqueue_work(compute_.stream(), std::move(work));
  }
  EngineTimes time(const Conv2dProblem& problem = small_problem()) {
    return time_engines(compute_, ConvolutionKind::kForward, problem, engines_);
  }
  std::vector<double> milliseconds(const Conv2dProblem& problem = small_problem()) {
    std::vector<double> all;
    for (const EngineTimes::Time& time : time(problem).engines) all.push_back(1000 * time.seconds);
    return all;
  }

  cuda_emulation::Emulated emulated_{{}};
  EngineChoices card_{.card = tests::kDescribedCard};
  CudaCompute compute_{{.engines = &card_}};
  std::vector<FoundEngine> engines_;
};

// A millisecond goes to each piece of work, and one to the event.
TEST_F(EngineTiming, SaysHowLongTheWorkOfEachTakes) {
  add(5);
  add(2);
  EXPECT_THAT(milliseconds(), ElementsAre(6, 3));
}

TEST_F(EngineTiming, AddsThePassForBiasWhereAnEngineLeavesItOut) {
  add(5);
  add(5);
  engines_.back().choice.finishes = true;
  Conv2dProblem problem = small_problem();
  problem.bias = true;
  EXPECT_THAT(milliseconds(problem), ElementsAre(8, 6));
}

TEST_F(EngineTiming, TheFastestOfSomeRunsCounts) {
  add([this, run = 0]() mutable {
    const int work = ++run == 3 ? 1 : 9;
    for (int i = 0; i < work; ++i) enqueue([] {});
    return CUDNN_STATUS_SUCCESS;
  });
  EXPECT_THAT(milliseconds(), ElementsAre(2));
}

// The operands lie before the workspace, x first, and have more values than are drawn at once.
TEST_F(EngineTiming, TheOperandsAreRandom) {
  const Conv2dProblem problem{
      .x = {2, 64, 40, 40}, .weight = {64, 64, 1, 1}, .y = {2, 64, 40, 40}, .params = {}};
  constexpr std::size_t kBiasBytes = 256;
  const std::size_t bytes = TensorSpec{problem.x}.bytes() + TensorSpec{problem.y}.bytes() +
                            TensorSpec{problem.weight}.bytes() + kBiasBytes;
  std::vector<float> x(static_cast<std::size_t>(problem.x.elements()));
  add([&] {
    enqueue([&] { std::memcpy(x.data(), workspace - bytes, x.size() * sizeof(float)); });
    return CUDNN_STATUS_SUCCESS;
  });
  time(problem);
  EXPECT_THAT(x, Each(AllOf(Ge(-1), Lt(1))));
  EXPECT_GT(std::set<float>(x.begin(), x.end()).size(), 60'000u);
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()), 0, 0.01);
}

TEST_F(EngineTiming, AnEngineThatFailsHasAReasonAndNoSeconds) {
  add(1);
  add(0, CUDNN_STATUS_NOT_SUPPORTED);
  add(3);
  const EngineTimes times = time();
  EXPECT_EQ(times.engines[1].seconds, 0);
  EXPECT_THAT(times.engines[1].failure, HasSubstr("CUDNN_STATUS_NOT_SUPPORTED"));
  EXPECT_DOUBLE_EQ(times.engines[2].seconds, 0.004);
  EXPECT_EQ(times.engines[2].failure, "");
}

// A fault of a kernel stays: the engines after it would fail, too, and so would the training.
TEST_F(EngineTiming, ALostDeviceEndsWithTheEngineThatLostIt) {
  add(1);
  add([this] {
    enqueue([] { throw std::runtime_error("an illegal memory access was encountered"); });
    return CUDNN_STATUS_SUCCESS;
  });
  add(1);
  EXPECT_THROW(time(), CudaError);
  EXPECT_THAT(error_of([this] { time(); }), StartsWith("[cudaMalloc]")) << "it stays lost";
}

TEST_F(EngineTiming, ALostDeviceIsNamedWithItsProblem) {
  add(0, CUDNN_STATUS_EXECUTION_FAILED);
  add([this] {
    enqueue([] { throw std::runtime_error("an illegal memory access was encountered"); });
    return CUDNN_STATUS_EXECUTION_FAILED;
  });
  EXPECT_EQ(error_of([this] { time(); }),
            "[engine 41 of conv2d " + small_problem().str() +
                ": the device is lost] an illegal memory access was encountered");
}

TEST_F(EngineTiming, RefusedOperandsAreAFact) {
  add(1);
  engines_.back().choice.workspace_bytes = std::size_t{1} << 40;
  const EngineTimes times = time();
  EXPECT_GT(times.refused_bytes, std::size_t{1} << 40);
  EXPECT_EQ(times.engines.at(0).seconds, 0);
  EXPECT_EQ(times.engines.at(0).failure, "");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace skyline
