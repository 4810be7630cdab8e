#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "framework/cuda/cuda_compute.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/math/arithmetic_kernels.h"
#include "framework/ops/optimizer/updates_kernels.h"
#include "framework/ops/recurrent/lstm_kernels.h"
#include "tests/cuda/kernel_pair.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

// The device may round an fma differently from the CPU.
constexpr double kOneRounding = 1.2e-7, kSomeRoundings = 5e-7;

// None, one, less than a vector of 16 bytes, a vector, and several blocks with a rest.
constexpr std::int64_t kCounts[] = {0, 1, 3, 4, 2051};

TEST(ElementwiseKernels, ActivationsAreThoseOfTheCpu) {
  using enum ActivationKind;
  for (const ActivationKind kind : {kRelu, kSigmoid, kTanh, kGelu}) {
    for (const std::int64_t count : kCounts) {
      for (const bool gradient : {false, true}) {
        const ActivationProblem problem{kind, gradient, count};
        KernelPair pair{
            .cpu = [=] { return make_activation_cpu(problem); },
            .cuda = [=](CudaCompute& compute) { return make_activation_cuda(compute, problem); },
            .inputs = {random_operand(count, 1, -3, 3)},
            .outputs = {{{count}}},
            .in_place = {{0, 0}},
            .tolerance = kOneRounding};
        if (gradient) {
          pair.inputs = {random_operand(count, 1), random_operand(count, 2)};
          pair.in_place.push_back({1, 0});
        }
        expect_same(fmt::format("activation {}, gradient {}", static_cast<int>(kind), gradient),
                    pair);
      }
    }
  }
}

#ifndef __clang__  // which checks no alignment where a structure is copied
// Kernels move 16 bytes at a time.
TEST(ElementwiseKernelsDeathTest, StopAtAddressesThatAreNotAligned) {
  alignas(16) float values[9] = {};
  const auto run = [&values](std::size_t first) {
    CudaCompute compute({});
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(values + first)};
    std::byte* outputs[] = {reinterpret_cast<std::byte*>(values + first)};
    make_activation_cuda(compute, {.elements = 4})->run({inputs, outputs});
    compute.wait();
  };
  run(4);
  EXPECT_DEATH(run(1), "");
}
#endif

TEST(ElementwiseKernels, FillsEveryElement) {
  for (const std::int64_t count : kCounts) {
    expect_same("fill",
                {.cpu = [=] { return make_fill_cpu(count, 0.1f); },
                 .cuda = [=](CudaCompute& compute) { return make_fill_cuda(compute, count, 0.1f); },
                 .outputs = {{{count}}}});
  }
}

KernelPair sum_pair(std::int64_t count, int inputs) {
  KernelPair pair{
      .cpu = [=] { return make_sum_cpu(count, inputs); },
      .cuda = [=](CudaCompute& compute) { return make_sum_cuda(compute, count, inputs); },
      .outputs = {{{count}}},
      .in_place = {{0, 0}, {inputs - 1, 0}}};
  for (int k = 0; k < inputs; ++k) {
    pair.inputs.push_back(random_operand(count, static_cast<std::uint64_t>(k)));
  }
  return pair;
}

TEST(ElementwiseKernels, SumsInTheOrderOfTheInputs) {
  for (const std::int64_t count : kCounts) {
    for (const int inputs : {1, 2, 5}) expect_same("sum", sum_pair(count, inputs));
  }
}

TEST(ElementwiseKernels, SumsMoreInputsThanOneKernelTakes) {
  for (const int inputs : {256, 257, 600}) expect_same("sum", sum_pair(37, inputs));
}

TEST(ElementwiseKernels, AddsAndScales) {
  for (const std::int64_t count : kCounts) {
    for (const bool relu : {false, true}) {
      const AddScaledParams params{.scale = 0.3f, .relu = relu};
      expect_same("add_scaled", {.cpu = [=] { return make_add_scaled_cpu(count, params); },
                                 .cuda =
                                     [=](CudaCompute& compute) {
                                       return make_add_scaled_cuda(compute, count, params);
                                     },
                                 .inputs = {random_operand(count, 1), random_operand(count, 2)},
                                 .outputs = {{{count}}},
                                 .in_place = {{0, 0}, {1, 0}},
                                 .tolerance = kOneRounding});
    }
  }
}

TEST(ElementwiseKernels, AddScaledGradWritesWhatIsWanted) {
  for (const std::int64_t count : kCounts) {
    for (const bool relu : {false, true}) {
      for (const auto& [x, residual] : {std::pair(true, false), {false, true}, {true, true}}) {
        const AddScaledGradients wanted{count, {.scale = 0.3f, .relu = relu}, x, residual};
        KernelPair pair{
            .cpu = [=] { return make_add_scaled_grad_cpu(wanted); },
            .cuda =
                [=](CudaCompute& compute) { return make_add_scaled_grad_cuda(compute, wanted); },
            .inputs = {random_operand(count, 1)},
            .outputs = {{{count}}},
            .in_place = {{0, 0}}};
        if (x && residual) pair.outputs.push_back({{count}});
        if (relu) {
          pair.inputs.push_back(random_operand(count, 2));
          if (x && residual) pair.in_place.push_back({1, 1});
          pair.in_place.push_back({1, 0});
        }
        expect_same("add_scaled_grad", pair);
      }
    }
  }
}

TEST(ElementwiseKernels, DropoutDrawsTheMaskOfTheCpu) {
  const std::uint64_t stream = (7ull << 32) + 3;
  const DropoutMask mask{.seed = 0x1234567890abcdef, .offset = 2, .rate = 0.4f};
  for (const std::int64_t count : {0, 1, 31, 127, 128, 129, 2051}) {
    expect_same(
        "dropout",
        {.cpu = [=] { return make_dropout_cpu(count, mask); },
         .cuda = [=](CudaCompute& compute) { return make_dropout_cuda(compute, count, mask); },
         .inputs = {random_operand(count, 1)},
         .outputs = {{{count}}},
         .in_place = {{0, 0}},
         .run_value = RunValue(stream)});
  }
}

TEST(ElementwiseKernels, SgdMovesParameters) {
  const SgdMomentumFunction function{.rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
  for (const std::int64_t count : kCounts) {
    for (const bool scaled : {false, true}) {
      KernelPair pair{
          .cpu =
              [=] {
                return make_sgd_momentum_cpu({{{0, count}}, function, scaled});
              },
          .cuda =
              [=](CudaCompute& compute) {
                return make_sgd_momentum_cuda(compute, {{{0, count}}, function, scaled});
              },
          .inputs = {random_operand(count, 1), random_operand(count, 2), random_operand(count, 3)},
          .outputs = {{{count}}, {{count}}},
          .in_place = {{0, 0}, {2, 1}},
          .tolerance = kOneRounding};
      if (scaled) pair.inputs.push_back(bytes_of(std::vector{0.25f}));
      expect_same("sgd_momentum", pair);
    }
  }
}

TEST(ElementwiseKernels, AdamMovesParameters) {
  const AdamFunction function{
      .rate = {.step = 0.1f}, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
  for (const std::int64_t count : kCounts) {
    for (const bool scaled : {false, true}) {
      KernelPair pair{.cpu =
                          [=] {
                            return make_adam_cpu({{{0, count}}, function, scaled});
                          },
                      .cuda =
                          [=](CudaCompute& compute) {
                            return make_adam_cuda(compute, {{{0, count}}, function, scaled});
                          },
                      .inputs = {random_operand(count, 1), random_operand(count, 2),
                                 random_operand(count, 3), random_operand(count, 4, 0, 1)},
                      .outputs = {{{count}}, {{count}}, {{count}}},
                      .in_place = {{0, 0}, {2, 1}, {3, 2}},
                      .tolerance = kOneRounding};
      if (scaled) pair.inputs.push_back(bytes_of(std::vector{0.25f}));
      expect_same("adam", pair);
    }
  }
}

TEST(ElementwiseKernels, AdamWMovesParametersAndLetsMatricesDecay) {
  const AdamFunction function{.rate = {.step = 0.5f, .root = 2, .decay = 0.1f},
                              .beta1 = 0.9f,
                              .beta2 = 0.999f,
                              .epsilon = 1e-8f};
  KernelPair pair{.cpu = nullptr, .cuda = nullptr, .tolerance = kSomeRoundings};
  std::vector<UpdateRange> ranges;
  for (const std::int64_t count : kCounts) {
    ranges.push_back({0, count, count % 2 == 1});
    for (std::uint64_t k = 0; k < 4; ++k) pair.inputs.push_back(random_operand(count, k, 0, 1));
    for (int k = 0; k < 3; ++k) pair.outputs.push_back({{count}});
  }
  pair.cpu = [=] { return make_adam_cpu({ranges, function}); };
  pair.cuda = [=](CudaCompute& compute) { return make_adam_cuda(compute, {ranges, function}); };
  expect_same("adamw", pair);
  pair.run_value = RunValue(AdamRate{.step = 0.25f, .root = 1, .decay = 0.2f});
  expect_same("adamw at another rate", pair);
}

// Sizes of more parameters than one launch takes: none, parts of a block, several blocks.
std::vector<std::int64_t> sizes_of_many() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t p = 0; p < 250; ++p) sizes.push_back(p % 7 == 3 ? 0 : p % 5 * 997 + p);
  return sizes;
}

std::vector<UpdateRange> ranges_of_many() {
  std::vector<UpdateRange> ranges;
  for (const std::int64_t size : sizes_of_many()) ranges.push_back({0, size});
  return ranges;
}

// An update of many parameters, each with so many parts of state. Numbers are positive: a second
// moment is no other.
void add_many(KernelPair& pair, std::size_t parts, bool scaled) {
  std::uint64_t stream = 0;
  for (const std::int64_t size : sizes_of_many()) {
    for (std::size_t k = 0; k < parts + 2; ++k) {
      pair.inputs.push_back(random_operand(size, ++stream, 0, 1));
    }
    for (std::size_t k = 0; k < parts + 1; ++k) pair.outputs.push_back({{size}});
  }
  if (scaled) pair.inputs.push_back(bytes_of(std::vector{0.25f}));
}

TEST(ElementwiseKernels, SgdMovesManyParametersInFewLaunches) {
  const SgdMomentumFunction function{.rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
  const std::vector<UpdateRange> ranges = ranges_of_many();
  for (const bool scaled : {false, true}) {
    KernelPair pair{.cpu =
                        [=] {
                          return make_sgd_momentum_cpu({ranges, function, scaled});
                        },
                    .cuda =
                        [=](CudaCompute& compute) {
                          return make_sgd_momentum_cuda(compute, {ranges, function, scaled});
                        },
                    .tolerance = kOneRounding};
    add_many(pair, 1, scaled);
    const cuda_emulation::Emulated emulated({});
    run_on_emulation(pair);
    EXPECT_LE(cuda_emulation::counts().kernels, 3u);
    expect_same("sgd_momentum of many", pair);
  }
}

TEST(ElementwiseKernels, AdamMovesManyParametersInFewLaunches) {
  const AdamFunction function{
      .rate = {.step = 0.1f}, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
  const std::vector<UpdateRange> ranges = ranges_of_many();
  for (const bool scaled : {false, true}) {
    KernelPair pair{.cpu =
                        [=] {
                          return make_adam_cpu({ranges, function, scaled});
                        },
                    .cuda =
                        [=](CudaCompute& compute) {
                          return make_adam_cuda(compute, {ranges, function, scaled});
                        },
                    .tolerance = kSomeRoundings};
    add_many(pair, 2, scaled);
    const cuda_emulation::Emulated emulated({});
    run_on_emulation(pair);
    EXPECT_LE(cuda_emulation::counts().kernels, 3u);
    expect_same("adam of many", pair);
  }
}

TEST(ElementwiseKernels, SumsSquares) {
  // The last three take several blocks; their parts are added up.
  for (const std::int64_t count : {0, 1, 5, 16384, 32768, 50003, 200001}) {
    expect_same(
        "sum_of_squares",
        {.cpu = [=] { return make_sum_of_squares_cpu(count); },
         .cuda = [=](CudaCompute& compute) { return make_sum_of_squares_cuda(compute, count); },
         .inputs = {random_operand(count, 1)},
         .outputs = {{{1}}},
         .tolerance = kOneRounding});
  }
}

TEST(ElementwiseKernels, ClipsByTheNormOfAllSums) {
  for (const std::size_t sums : {1, 2, 255, 256, 257, 700}) {
    for (const float max_norm : {1.0f, 1000.0f}) {
      KernelPair pair{
          .cpu = [=] { return make_clip_factor_cpu(sums, max_norm); },
          .cuda =
              [=](CudaCompute& compute) { return make_clip_factor_cuda(compute, sums, max_norm); },
          .outputs = {{{1}}},
          .in_place = {{0, 0}}};
      for (std::size_t k = 0; k < sums; ++k) pair.inputs.push_back(random_operand(1, k, 1, 3));
      expect_same("clip_factor", pair);
    }
  }
}

TEST(ElementwiseKernels, LstmCellsAreThoseOfTheCpu) {
  for (const auto& [rows, units] : {std::pair(1, 1), {3, 5}, {5, 64}}) {
    const std::int64_t cells = rows * units;
    expect_same("lstm_cell",
                {.cpu =
                     [=] {
                       return make_lstm_cell_cpu({rows, units});
                     },
                 .cuda =
                     [=](CudaCompute& compute) {
                       return make_lstm_cell_cuda(compute, {rows, units});
                     },
                 .inputs = {random_operand(4 * cells, 1, -3, 3), random_operand(cells, 2)},
                 .outputs = {{{cells}}, {{4 * cells}}, {{cells}}},
                 .in_place = {{0, 1}, {1, 2}},
                 .tolerance = kSomeRoundings});
    expect_same("lstm_cell_grad", {.cpu =
                                       [=] {
                                         return make_lstm_cell_grad_cpu({rows, units});
                                       },
                                   .cuda =
                                       [=](CudaCompute& compute) {
                                         return make_lstm_cell_grad_cuda(compute, {rows, units});
                                       },
                                   .inputs = {random_operand(4 * cells, 1, 0, 1),
                                              random_operand(cells, 2), random_operand(cells, 3),
                                              random_operand(cells, 4), random_operand(cells, 5)},
                                   .outputs = {{{4 * cells}}, {{cells}}},
                                   .in_place = {{0, 0}, {4, 1}, {3, 1}},
                                   .tolerance = kSomeRoundings});
  }
}

}  // namespace
}  // namespace skyline
