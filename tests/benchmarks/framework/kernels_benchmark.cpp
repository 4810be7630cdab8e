// GFLOP/s of convolutions of resnet20 and lenet and of mlp's products at batch 128, forward and
// backward, with workspaces and reorders as in training, and of attention in GPT. `of_sgemm` is the
// ratio to a 2048 x 2048 x 2048 matrix product measured at the start of the same run.
//
// Then GB/s of kernels that are bound by memory, in the networks' sizes at batch 16. `of_copy` is
// the ratio to a plain copy by all threads that reads and writes as many bytes in total, measured
// beside it.
//
//   OMP_NUM_THREADS=2 kernels_benchmark
//
// pytorch_gpt_ops.py times those of GPT in PyTorch.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/attention/attention_kernels.h"
#include "framework/ops/connection/conv2d.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/math/arithmetic_kernels.h"
#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/pooling/pool2d_kernels.h"

namespace skyline {
namespace {

constexpr std::int64_t kBatch = 128;

template <typename Call>
double seconds_of(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Returns FLOP/s, from the best of 40 runs.
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

// Memory for one kernel, aligned like the allocators' blocks and filled with numbers.
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

std::vector<TensorSpec> output_specs(const Op& op, std::span<const TensorSpec> inputs) {
  std::vector<TensorSpec> specs;
  for (const OutputSpec& output : op.outputs(inputs)) specs.push_back(output.spec);
  return specs;
}

// One kernel with buffers for all its operands.
class Bench {
 public:
  Bench(std::unique_ptr<Kernel> kernel, std::span<const TensorSpec> inputs,
        std::span<const TensorSpec> outputs)
      : kernel_(std::move(kernel)), workspace_(kernel_->workspace_bytes()) {
    for (const TensorSpec& input : inputs) {
      buffers_.emplace_back(input.bytes());
      inputs_.push_back(buffers_.back().address());
    }
    for (const TensorSpec& output : outputs) {
      buffers_.emplace_back(output.bytes());
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

std::unique_ptr<Kernel> cpu_kernel(const Op& op, const std::vector<TensorSpec>& inputs) {
  CpuCompute cpu;
  return op.kernel(cpu, inputs);
}

// Rates are those of the fastest iteration, like the yardstick's: other programs only slow down.
void measure(benchmark::State& state, const Op& op, const std::vector<TensorSpec>& inputs,
             double flop, double sgemm) {
  Bench bench(cpu_kernel(op, inputs), inputs, output_specs(op, inputs));
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

// Returns bytes per second, read and written together, from the best of 40 runs.
double copy_rate(std::size_t bytes) {
  const auto half = static_cast<std::int64_t>(bytes / 2);
  const Buffer from(bytes / 2), to(bytes / 2);
  constexpr std::int64_t kPart = 16384;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 40; ++run) {
    best_seconds = std::min(best_seconds, seconds_of([&] {
#pragma omp parallel for schedule(static)
                              for (std::int64_t begin = 0; begin < half; begin += kPart) {
                                std::copy_n(from.address() + begin, std::min(kPart, half - begin),
                                            to.address() + begin);
                              }
                            }));
  }
  return static_cast<double>(bytes) / best_seconds;
}

// Adds a kernel that is bound by memory under its name.
void add_moving(const std::string& name, std::function<std::unique_ptr<Kernel>()> make,
                std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs) {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : inputs) bytes += spec.bytes();
  for (const TensorSpec& spec : outputs) bytes += spec.bytes();
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    Bench bench(make(), inputs, outputs);
    double best = std::numeric_limits<double>::infinity();
    for (auto _ : state) {
      best = std::min(best, seconds_of([&] { bench.run(); }));
    }
    const double rate = static_cast<double>(bytes) / best;
    state.counters["best_ms"] = best * 1e3;
    state.counters["best_GB/s"] = rate * 1e-9;
    state.counters["of_copy"] = rate / copy_rate(bytes);
  })->UseRealTime();
}

// A pooling and its gradient.
void add_pool(const std::string& name, bool max, const Shape& x, Pool2dParams params) {
  const std::shared_ptr<const Op> op = max ? max_pool2d_op(params) : average_pool2d_op(params);
  const std::vector<TensorSpec> inputs = {{x}}, outputs = output_specs(*op, inputs);
  add_moving(
      name + "/" + std::string(op->name()), [=] { return cpu_kernel(*op, inputs); }, inputs,
      outputs);
  const std::shared_ptr<const Op> grad = op->gradient(inputs, {true})[0].op;
  std::vector<TensorSpec> read = {outputs[0]};
  if (max) read.insert(read.begin(), outputs[1]);
  add_moving(
      name + "/" + std::string(grad->name()), [=] { return cpu_kernel(*grad, read); }, read,
      inputs);
}

void add_pools() {
  const Pool2dParams halve{.kernel = 3, .stride = 2, .ceil_mode = true};
  const Pool2dParams keep{.kernel = 3, .stride = 1, .padding = 1};
  add_pool("lenet.pool1", true, {128, 6, 28, 28}, {.kernel = 2});
  add_pool("lenet.pool2", true, {128, 16, 10, 10}, {.kernel = 2});
  add_pool("vgg16.pool1", true, {16, 64, 224, 224}, {.kernel = 2});
  add_pool("googlenet.pool1", true, {16, 64, 112, 112}, halve);
  add_pool("googlenet.inception_3b", true, {16, 256, 28, 28}, keep);
  add_pool("googlenet.inception_4b", true, {16, 512, 14, 14}, keep);
  add_pool("googlenet.auxiliary", false, {16, 512, 14, 14}, {.kernel = 5, .stride = 3});
  add_pool("inception-resnet.mixed_5b", false, {16, 192, 35, 35}, keep);
  add_pool("resnet50.pool5", false, {16, 2048, 7, 7}, {.kernel = 7});
}

void add_response_norm(const std::string& name, const Shape& x) {
  const LocalResponseNormProblem problem{.pixels = x[0] * x[2] * x[3], .channels = x[1]};
  add_moving(name + "/local_response_norm", [=] { return make_local_response_norm_cpu(problem); },
             {{x}}, {{x}});
  add_moving(name + "/local_response_norm_grad",
             [=] { return make_local_response_norm_grad_cpu(problem); }, {{x}, {x}}, {{x}});
}

// The joint of an inception block, with relu.
void add_concat(const std::string& name, std::int64_t image, std::vector<std::int64_t> widths) {
  const ConcatLayout layout{.rows = 16 * image * image, .widths = widths};
  std::vector<TensorSpec> parts;
  std::int64_t width = 0;
  for (const std::int64_t part : widths) {
    parts.push_back({{16, part, image, image}});
    width += part;
  }
  const TensorSpec joined{{16, width, image, image}};
  add_moving(name + "/concat", [=] { return make_concat_cpu({layout, true}); }, parts, {joined});
  add_moving(
      name + "/concat_grad",
      [=] {
        return make_concat_grad_cpu({layout, true, std::vector<bool>(widths.size(), true)});
      },
      {joined, joined}, parts);
}

void add_elementwise(const std::string& name, const Shape& x, float scale) {
  const AddScaledParams params{.scale = scale, .relu = true};
  add_moving(name + "/add_scaled", [=] { return make_add_scaled_cpu(x.elements(), params); },
             {{x}, {x}}, {{x}});
  add_moving(name + "/add_scaled_grad",
             [=] {
               return make_add_scaled_grad_cpu(
                   {.elements = x.elements(), .params = params, .x = true, .residual = true});
             },
             {{x}, {x}}, {{x}, {x}});
}

// The ops of a layer of GPT that are no products: rows of all words, channels of a word.
void add_layer_of_gpt(const std::string& name, std::int64_t rows, std::int64_t channels) {
  const LayerNormProblem norm{rows, channels, 1e-5f, true};
  const TensorSpec x{{rows, channels}}, of_row{Shape{rows}}, of_channel{Shape{channels}};
  add_moving(name + "/layer_norm", [=] { return make_layer_norm_cpu(norm); },
             {x, of_channel, of_channel}, {x, of_row, of_row});
  add_moving(name + "/layer_norm_grad", [=] { return make_layer_norm_grad_cpu(norm); },
             {x, of_channel, of_row, of_row, x}, {x, of_channel, of_channel});
  const std::int64_t wide = 4 * rows * channels;
  const ActivationProblem gelu{ActivationKind::kGelu, false, wide};
  const ActivationProblem grad{ActivationKind::kGelu, true, wide};
  add_moving(name + "/gelu", [=] { return make_activation_cpu(gelu); }, {{{wide}}}, {{{wide}}});
  add_moving(name + "/gelu_grad", [=] { return make_activation_cpu(grad); }, {{{wide}}, {{wide}}},
             {{{wide}}});
}

void add_all_moving() {
  add_pools();
  add_response_norm("alexnet.conv1", {16, 96, 55, 55});
  add_response_norm("googlenet.conv2", {16, 192, 56, 56});
  add_concat("googlenet.inception_3a", 28, {64, 128, 32, 32});
  add_concat("googlenet.inception_4e", 14, {256, 320, 128, 128});
  add_layer_of_gpt("gpt-small", 768, 128);
  add_layer_of_gpt("gpt2", 4096, 768);
  add_elementwise("resnet50.conv2_x", {16, 256, 56, 56}, 1);
  add_elementwise("inception-resnet.block35", {16, 320, 35, 35}, 0.17f);
  const Shape fc6 = {16, 4096};
  add_moving("alexnet.fc6/dropout",
             [=] { return make_dropout_cpu(fc6.elements(), {.rate = 0.5f}); }, {{fc6}}, {{fc6}});
}

// Attention and its gradient; products of words that a word does not attend to do not count.
void add_attention(const std::string& name, const AttentionProblem& problem, double sgemm) {
  const double products =
      static_cast<double>(problem.y().elements()) * static_cast<double>(problem.words + 1) / 2;
  const auto add_kernel = [&](const char* op, CpuOptionsMaker<AttentionProblem>* make, double flop,
                              std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs) {
    benchmark::RegisterBenchmark((name + "/" + op).c_str(), [=](benchmark::State& state) {
      Bench bench(make({}, problem), inputs, outputs);
      double best = std::numeric_limits<double>::infinity();
      for (auto _ : state) best = std::min(best, seconds_of([&] { bench.run(); }));
      state.counters["best_ms"] = best * 1e3;
      state.counters["best_GFLOP/s"] = flop / best * 1e-9;
      state.counters["of_sgemm"] = flop / best / sgemm;
    })->UseRealTime();
  };
  const TensorSpec qkv{problem.qkv()}, y{problem.y()}, logarithms{problem.logarithms()};
  add_kernel("attention", make_attention_cpu, 4 * products, {qkv}, {y, logarithms});
  add_kernel("attention_grad", make_attention_grad_cpu, 10 * products, {qkv, y, logarithms, y},
             {qkv});
}

void add_all(double sgemm) {
  add_attention("gpt-small", {12, 64, 4, 32}, sgemm);
  add_attention("gpt2.64", {1, 64, 12, 64}, sgemm);
  add_attention("gpt2.1024", {4, 1024, 12, 64}, sgemm);
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
  convolution("lenet.conv1", 1, 28, 6, {.padding = 2}, 5);
  convolution("lenet.conv2", 6, 14, 16, {}, 5);
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
  skyline::add_all_moving();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
