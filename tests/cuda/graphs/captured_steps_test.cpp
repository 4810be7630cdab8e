#include "framework/cuda/captured_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/cuda/cuda_error.h"
#include "framework/cuda/cuda_runner.h"
#include "tests/cuda/device_calls.h"
#include "tests/cuda/graphs/multiply_add.h"

namespace skyline {
namespace {

using testing::HasSubstr;

class Clear : public Kernel {
 public:
  explicit Clear(CudaCompute& compute) : compute_(compute) {}
  void run(const KernelArguments& arguments) override {
    compute_.zero(arguments.outputs[0], sizeof(float));
  }

 private:
  CudaCompute& compute_;
};

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override {
    check_cuda(cudaMalloc(&bytes_, 2 * sizeof(float)), "cudaMalloc");
    compute_.zero(bytes_, 2 * sizeof(float));
  }
  void TearDown() override { cudaFree(bytes_); }

  std::shared_ptr<Kernel> kernel(float factor) { return make_multiply_add(compute_, factor); }
  void run(const std::shared_ptr<Kernel>& kernel, RunValue value = {}, int place = 0) {
    const std::array outputs = {bytes_ + place * static_cast<int>(sizeof(float))};
    runner_.run(kernel, {{}, outputs, nullptr, value});
  }
  float value(int place = 0) {
    std::array<float, 2> values{};
    compute_.read(values.data(), bytes_, sizeof values);
    return values[static_cast<std::size_t>(place)];
  }
  // Returns the graphs launched and the ops run one by one since the last call.
  std::pair<std::uint64_t, std::uint64_t> launches() {
    const Launches before = std::exchange(before_, runner_.facts().launches);
    return {before_.graphs - before.graphs, before_.ops - before.ops};
  }
  using Counted = std::pair<std::uint64_t, std::uint64_t>;

  CudaCompute compute_{{.graph = true}};
  CudaRunner& runner_ = static_cast<CudaRunner&>(compute_.runner());
  std::byte* bytes_ = nullptr;
  Launches before_;
};

TEST_F(CudaGraphs, ReplaceAStretchFromItsThirdTimeOn) {
  const auto twice = kernel(2), thrice = kernel(3);
  float expected = 0;
  for (int step = 0; step < 5; ++step) {
    run(twice, RunValue(static_cast<float>(step)));
    run(thrice);
    expected = (expected * 2 + static_cast<float>(step)) * 3 + 0.5f;
    EXPECT_EQ(value(), expected) << step;
    EXPECT_EQ(launches(), step < 2 ? Counted(0, 2) : Counted(1, 0)) << step;
  }
}

TEST_F(CudaGraphs, HaveRunValuesOfAllSizes) {
  const auto twice = kernel(2), thrice = kernel(3);
  float expected = 0;
  for (int step = 0; step < 4; ++step) {
    const auto more = static_cast<float>(step);
    run(twice, RunValue(std::vector<float>{more, 0, 0}));
    run(thrice, RunValue(more + 1));
    expected = (expected * 2 + more) * 3 + more + 1;
    EXPECT_EQ(value(), expected) << step;
  }
  EXPECT_EQ(launches(), Counted(2, 4));
  run(twice, RunValue(1.0f));
  run(thrice, RunValue(1.0f));
  EXPECT_EQ(value(), (expected * 2 + 1) * 3 + 1) << "fewer bytes: another stretch";
  EXPECT_EQ(launches(), Counted(0, 2));
}

// A kernel may call what ends a stretch between ops.
TEST_F(CudaGraphs, HoldOpsThatZeroMemory) {
  const auto twice = kernel(2);
  const auto clear = std::make_shared<Clear>(compute_);
  for (int step = 0; step < 4; ++step) {
    run(twice);
    run(clear);
    run(twice);
    EXPECT_EQ(value(), 0.5f);
    EXPECT_EQ(launches(), step < 2 ? Counted(0, 3) : Counted(1, 0)) << step;
  }
}

TEST_F(CudaGraphs, HoldOpsBackUntilTheStretchEnds) {
  const auto twice = kernel(2);
  for (int step = 0; step < 2; ++step) {
    run(twice);
    runner_.flush();
  }
  const auto kernels = kernels_outside_graphs();
  launches();
  run(twice);
  EXPECT_EQ(launches(), Counted(0, 0));
  runner_.flush();
  EXPECT_EQ(launches(), Counted(1, 0));
  EXPECT_EQ(kernels_outside_graphs(), kernels);
  EXPECT_EQ(value(), 3.5f);
}

// A stretch that begins like a captured one but goes on differently, stops before its end or goes
// on after it, runs one by one, and is captured in its turn.
TEST_F(CudaGraphs, AreLaunchedForTheirOwnStretchOnly) {
  const auto a = kernel(2), b = kernel(3), c = kernel(5);
  using Stretch = std::vector<std::shared_ptr<Kernel>>;
  const std::vector<Stretch> stretches = {{a, b}, {a, c}, {a}, {a, b, c}, {a, b}};
  float expected = 0;
  const auto run_all = [&](const Stretch& stretch) {
    for (const auto& kernel : stretch) {
      run(kernel);
      expected = expected * (kernel == a ? 2.0f : kernel == b ? 3.0f : 5.0f) + 0.5f;
    }
    EXPECT_EQ(value(), expected);
    run(kernel(0));  // a new kernel: a stretch of its own that never returns
    expected = 0.5f;
    EXPECT_EQ(value(), expected);
  };
  for (int round = 0; round < 2; ++round) {
    for (const Stretch& stretch : stretches) run_all(stretch);
  }
  launches();
  for (const Stretch& stretch : stretches) {
    run_all(stretch);
    EXPECT_EQ(launches(), Counted(1, 1));
  }
}

TEST_F(CudaGraphs, AreNotLaunchedForOtherAddresses) {
  const auto twice = kernel(2);
  for (int step = 0; step < 3; ++step) {
    run(twice);
    runner_.flush();
  }
  launches();
  run(twice, {}, 1);
  EXPECT_EQ(value(1), 0.5f);
  EXPECT_EQ(launches(), Counted(0, 1));
  EXPECT_EQ(value(0), 3.5f);
}

TEST_F(CudaGraphs, OfLongAgoAreForgotten) {
  const auto twice = kernel(2);
  const auto run_alone = [&](const std::shared_ptr<Kernel>& kernel) {
    run(kernel);
    runner_.flush();
    compute_.wait();
  };
  for (int step = 0; step < 3; ++step) run_alone(twice);
  const auto held = device_calls().held_bytes;
  for (int other = 0; other < 40; ++other) run_alone(kernel(1));
  launches();
  run_alone(twice);
  EXPECT_EQ(launches(), Counted(0, 1));
  EXPECT_LE(device_calls().held_bytes, held);
}

TEST_F(CudaGraphs, ReturnNoMemoryUnderOpsHeldBack) {
  const auto twice = kernel(2);
  for (int step = 0; step < 2; ++step) {
    run(twice);
    runner_.flush();
  }
  run(twice);
  EXPECT_TRUE(runner_.facts().defers);
  runner_.finish();
  EXPECT_EQ(runner_.facts().launches.graphs, 1u);
  EXPECT_EQ(value(), 3.5f);
}

// A kernel that does what a capture refuses names the call, and the stream goes on.
TEST_F(CudaGraphs, NameTheCallThatACaptureRefuses) {
  using Fault = void (*)(CudaCompute&);
  const std::pair<Fault, const char*> faults[] = {
      {[](CudaCompute&) {
         void* address = nullptr;
         check_cuda(cudaMalloc(&address, 8), "cudaMalloc");
         cudaFree(address);
       },
       "[cudaMalloc] operation not permitted when stream is capturing"},
      {[](CudaCompute& compute) {
         check_cuda(cudaStreamSynchronize(compute.stream()), "cudaStreamSynchronize");
       },
       "[cudaStreamSynchronize] operation not permitted when stream is capturing"},
      {[](CudaCompute& compute) {
         cudaEvent_t event = nullptr;
         check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
         const cudaError_t asked = cudaEventQuery(event);
         cudaEventDestroy(event);
         check_cuda(asked, "cudaEventQuery");
         check_cuda(cudaStreamSynchronize(compute.stream()), "cudaStreamSynchronize");
       },
       "[cudaEventQuery]"},
      {[](CudaCompute&) { cudaDeviceSynchronize(); },
       "[cudaLaunchKernelEx] operation failed due to a previous error during capture"},
  };
  for (const auto& [fault, message] : faults) {
    const auto faulty = make_multiply_add(compute_, 2, fault);
    run(faulty);
    runner_.flush();
    run(faulty);
    try {
      runner_.flush();
      ADD_FAILURE() << message;
    } catch (const CudaError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
    compute_.zero(bytes_, sizeof(float));
    run(kernel(2));
    EXPECT_EQ(value(), 0.5f);
  }
}

}  // namespace
}  // namespace skyline
