// GFLOP/s of resnet20's convolutions and mlp's products at batch 128, forward and backward, with
// workspaces and reorders as in training. `of_sgemm` is the ratio to a 2048 x 2048 x 2048 matrix
// product measured at the start of the same run: the machine's own yardstick.
//
//   OMP_NUM_THREADS=2 kernels_benchmark

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "framework/ops/conv2d.h"
#include "framework/ops/linear.h"

namespace skyline {
namespace {

constexpr std::int64_t kBatch = 128;

template <typename Call>
double seconds_of(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// In FLOP/s, from the best of 40 runs.
double sgemm_rate() {
  constexpr dnnl::memory::dim kExtent = 2048;
  constexpr double kFlop = 2.0 * kExtent * kExtent * kExtent;
  const std::vector<float> a(kExtent * kExtent, 0.5f), b(a);
  std::vector<float> c(a.size());
  double best_seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 40; ++run) {
    best_seconds = std::min(best_seconds, seconds_of([&] {
                              dnnl::sgemm('N', 'N', kExtent, kExtent, kExtent, 1, a.data(), kExtent,
                                          b.data(), kExtent, 0, c.data(), kExtent);
                            }));
  }
  return kFlop / best_seconds;
}

// Memory for one kernel, aligned as the allocators align it, filled with numbers.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : bytes_((std::max<std::size_t>(bytes, 1) + 511) / 512 * 512),
        memory_(static_cast<std::byte*>(std::aligned_alloc(512, bytes_)), std::free) {
    std::fill_n(reinterpret_cast<float*>(memory_.get()), bytes_ / sizeof(float), 0.25f);
  }
  std::byte* address() const { return memory_.get(); }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

// One op with buffers for all that it touches.
class Bench {
 public:
  Bench(const Op& op, std::span<const TensorSpec> inputs)
      : kernel_(op.kernel(Backend::kCpu, inputs)), workspace_(kernel_->workspace_bytes()) {
    for (const TensorSpec& input : inputs) {
      buffers_.emplace_back(input.bytes());
      inputs_.push_back(buffers_.back().address());
    }
    for (const OutputSpec& output : op.outputs(inputs)) {
      buffers_.emplace_back(output.spec.bytes());
      outputs_.push_back(buffers_.back().address());
    }
    run();  // the first run prepares
  }
  void run() { kernel_->run({inputs_, outputs_, workspace_.address()}); }

 private:
  std::unique_ptr<Kernel> kernel_;
  Buffer workspace_;
  std::vector<Buffer> buffers_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

// Rates are those of the fastest iteration, as the yardstick's is: other programs only slow down.
void measure(benchmark::State& state, const Op& op, const std::vector<TensorSpec>& inputs,
             double flop, double sgemm) {
  Bench bench(op, inputs);
  double best_seconds = std::numeric_limits<double>::infinity();
  for (auto _ : state) best_seconds = std::min(best_seconds, seconds_of([&] { bench.run(); }));
  state.counters["best_GFLOP/s"] = flop / best_seconds * 1e-9;
  state.counters["of_sgemm"] = flop / best_seconds / sgemm;
}

// The op and its gradient ops under one name; all have the same multiply-adds.
void add(const std::string& name, std::shared_ptr<const Op> op, std::vector<TensorSpec> inputs,
         double sgemm) {
  const TensorSpec y = op->outputs(inputs)[0].spec;
  const double flop = 2.0 * static_cast<double>(y.shape.elements()) *
                      static_cast<double>(inputs[1].shape.elements() / inputs[1].shape[0]);
  benchmark::RegisterBenchmark(
      (name + "/" + std::string(op->name())).c_str(),
      [=](benchmark::State& state) { measure(state, *op, inputs, flop, sgemm); })
      ->UseRealTime();
  for (const GradientCall& call : op->gradient(inputs, std::vector(inputs.size(), true))) {
    const TensorSpec read = inputs[static_cast<std::size_t>(call.sources[0].index)];
    benchmark::RegisterBenchmark((name + "/" + std::string(call.op->name())).c_str(),
                                 [=](benchmark::State& state) {
                                   measure(state, *call.op, {read, y}, flop, sgemm);
                                 })
        ->UseRealTime();
  }
}

void add_all(double sgemm) {
  const auto convolution = [&](const std::string& name, std::int64_t in, std::int64_t image,
                               std::int64_t out, Conv2dParams params, std::int64_t window = 3) {
    add(name, conv2d_op(params), {{{kBatch, in, image, image}}, {{out, in, window, window}}},
        sgemm);
  };
  convolution("resnet20.conv1", 3, 32, 16, {.padding = 1});
  convolution("resnet20.conv2_x", 16, 32, 16, {.padding = 1});
  convolution("resnet20.conv3_1", 16, 32, 32, {.stride = 2, .padding = 1});
  convolution("resnet20.conv3_x", 32, 16, 32, {.padding = 1});
  convolution("resnet20.conv4_1", 32, 16, 64, {.stride = 2, .padding = 1});
  convolution("resnet20.conv4_x", 64, 8, 64, {.padding = 1});
  add("mlp.fc1", linear_op(), {{{kBatch, 784}}, {{1000, 784}}, {{1000}}}, sgemm);
  add("mlp.fc2", linear_op(), {{{kBatch, 1000}}, {{1000, 1000}}, {{1000}}}, sgemm);
}

}  // namespace
}  // namespace skyline

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const double sgemm = skyline::sgemm_rate();
  benchmark::AddCustomContext("sgemm 2048^3 GFLOP/s", std::to_string(sgemm * 1e-9));
  skyline::add_all(sgemm);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
