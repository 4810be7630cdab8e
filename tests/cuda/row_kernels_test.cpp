#include <gtest/gtest.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/thrust_cuda.h"
#include "tests/cuda/kernel_pair.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

TEST(Divider, IsExact) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const std::int64_t quotients[] = {1, 2, 3, 6, 7, 8, 1000, 65535, 4294967295, 4294967296, kMost};
  for (const std::int64_t divisor : {1, 2, 3, 5, 7, 64, 641, 1000, 65537, 16777213, 16777216}) {
    for (const std::int64_t near : quotients) {
      const std::int64_t middle = std::min(near, kMost / divisor) * divisor;
      for (std::int64_t dividend = middle - 1; dividend <= middle + 1; ++dividend) {
        const auto [quotient, remainder] = Divider(divisor)(dividend);
        ASSERT_EQ(quotient, dividend / divisor) << dividend << " / " << divisor;
        ASSERT_EQ(remainder, dividend % divisor) << dividend << " / " << divisor;
      }
    }
  }
}

// Some are multiples of four, some are not.
constexpr std::int64_t kWidths[] = {1, 3, 4, 40};

TEST(RowKernels, TakesRows) {
  for (const std::int64_t width : kWidths) {
    const std::vector<RowRange> ranges = {{0, 2}, {2, 1}, {5, 7}, {4, 3}};
    KernelPair pair{
        .cpu = [=] { return make_take_rows_cpu(ranges, width); },
        .cuda = [=](CudaCompute& compute) { return make_take_rows_cuda(compute, ranges, width); },
        .inputs = {random_operand(12 * width, 1)}};
    for (const RowRange& range : ranges) pair.outputs.push_back({{range.count, width}});
    expect_same("take_rows", pair);
  }
}

KernelPair place_pair(const std::vector<RowRange>& ranges, std::int64_t total, std::int64_t width) {
  KernelPair pair{
      .cpu = [=] { return make_place_rows_cpu(ranges, total, width); },
      .cuda =
          [=](CudaCompute& compute) { return make_place_rows_cuda(compute, ranges, total, width); },
      .outputs = {{{total, width}}}};
  for (const RowRange& range : ranges) {
    pair.inputs.push_back(random_operand(range.count * width, pair.inputs.size()));
  }
  return pair;
}

TEST(RowKernels, PlacesRowsAndClearsTheGaps) {
  for (const std::int64_t width : kWidths) {
    expect_same("place_rows", place_pair({{0, 2}, {2, 3}}, 5, width));
    expect_same("place_rows", place_pair({{1, 2}, {3, 1}, {6, 3}}, 11, width));
  }
}

TEST(RowKernels, PlacesMoreRangesThanOneKernelTakes) {
  std::vector<RowRange> ranges;
  for (std::int64_t k = 0; k < 300; ++k) ranges.push_back({k + k / 3, 1});
  expect_same("place_rows", place_pair(ranges, 400, 4));
}

TEST(RowKernels, PermutesRows) {
  for (const std::int64_t width : kWidths) {
    for (const int rows : {1, 5, 895, 896, 897, 2000}) {
      std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
      std::iota(order.begin(), order.end(), 0);
      const std::vector<std::int32_t> places = random_integers(rows, 1, rows);
      for (std::size_t k = 0; k < order.size(); ++k) {
        std::swap(order[k], order[static_cast<std::size_t>(places[k])]);
      }
      expect_same(
          "permute_rows",
          {.cpu = [=] { return make_permute_rows_cpu(width); },
           .cuda = [=](CudaCompute& compute) { return make_permute_rows_cuda(compute, width); },
           .inputs = {random_operand(rows * width, 1)},
           .outputs = {{{rows, width}}},
           .run_value = RunValue(order)});
    }
  }
}

std::int64_t sum_of(const std::vector<std::int64_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

std::vector<std::vector<std::int64_t>> joined_widths() {
  return {{1}, {3, 4}, {8, 4, 20}, {4, 6, 8}, std::vector<std::int64_t>(70, 4)};
}

TEST(RowKernels, JoinsChannels) {
  for (const std::vector<std::int64_t>& widths : joined_widths()) {
    for (const bool relu : {false, true}) {
      const ConcatLayout layout{.rows = 13, .widths = widths};
      KernelPair pair{.cpu =
                          [=] {
                            return make_concat_cpu({layout, relu});
                          },
                      .cuda =
                          [=](CudaCompute& compute) {
                            return make_concat_cuda(compute, {layout, relu});
                          },
                      .outputs = {{{13, sum_of(widths)}}}};
      for (const std::int64_t width : widths) {
        pair.inputs.push_back(random_operand(13 * width, pair.inputs.size()));
      }
      expect_same("concat", pair);
    }
  }
}

TEST(RowKernels, SplitsTheGradientOfJoinedChannels) {
  for (const std::vector<std::int64_t>& widths : joined_widths()) {
    for (const bool relu : {false, true}) {
      const ConcatLayout layout{.rows = 13, .widths = widths};
      std::vector<bool> needed(widths.size(), true);
      if (widths.size() > 2) needed[1] = false;
      KernelPair pair{.cpu =
                          [=] {
                            return make_concat_grad_cpu({layout, relu, needed});
                          },
                      .cuda =
                          [=](CudaCompute& compute) {
                            return make_concat_grad_cuda(compute, {layout, relu, needed});
                          },
                      .inputs = {random_operand(13 * sum_of(widths), 1)}};
      if (relu) pair.inputs.push_back(random_operand(13 * sum_of(widths), 2));
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (needed[i]) pair.outputs.push_back({{13, widths[i]}});
      }
      expect_same("concat_grad", pair);
    }
  }
}

TEST(RowKernels, ShortcutsTakeEveryStridethPixel) {
  for (const auto& [channels, more] : {std::pair(1, 1), {3, 7}, {8, 20}}) {
    for (const int stride : {1, 2, 3}) {
      const Shape x{2, channels, 5, 7};
      const ShortcutProblem problem{
          x, {2, more, (5 + stride - 1) / stride, (7 + stride - 1) / stride}, stride};
      expect_same(
          "shortcut",
          {.cpu = [=] { return make_shortcut_cpu(problem); },
           .cuda = [=](CudaCompute& compute) { return make_shortcut_cuda(compute, problem); },
           .inputs = {random_operand(x.elements(), 1)},
           .outputs = {{problem.y}}});
      expect_same(
          "shortcut_grad",
          {.cpu = [=] { return make_shortcut_grad_cpu(problem); },
           .cuda = [=](CudaCompute& compute) { return make_shortcut_grad_cuda(compute, problem); },
           .inputs = {random_operand(problem.y.elements(), 1)},
           .outputs = {{x}}});
    }
  }
}

KernelPair embedding_pair(const EmbeddingProblem& problem, const std::vector<std::int32_t>& ids) {
  return {.cpu = [=] { return make_embedding_cpu(problem); },
          .cuda = [=](CudaCompute& compute) { return make_embedding_cuda(compute, problem); },
          .inputs = {bytes_of(ids), random_operand(problem.words * problem.features, 1)},
          .outputs = {{{problem.rows, problem.features}}}};
}

KernelPair embedding_grad_pair(const EmbeddingProblem& problem,
                               const std::vector<std::int32_t>& ids) {
  return {.cpu = [=] { return make_embedding_grad_cpu(problem); },
          .cuda = [=](CudaCompute& compute) { return make_embedding_grad_cuda(compute, problem); },
          .inputs = {bytes_of(ids), random_operand(problem.rows * problem.features, 1)},
          .outputs = {{{problem.words, problem.features}}}};
}

TEST(RowKernels, EmbedsWordsAndAddsTheirGradientsInOrder) {
  for (const EmbeddingProblem& problem : {EmbeddingProblem{1, 1, 1},
                                          {40, 7, 3},
                                          {40, 100, 20},
                                          {100, 9, 516},
                                          {70, 1, 4},
                                          {1500, 40, 5}}) {
    const std::vector<std::int32_t> ids =
        random_integers(problem.rows, 2, static_cast<int>(problem.words));
    expect_same("embedding", embedding_pair(problem, ids));
    expect_same("embedding_grad", embedding_grad_pair(problem, ids));
  }
}

TEST(RowKernels, AddsWordsGradientsToOnesThatAreThere) {
  for (EmbeddingProblem problem : {EmbeddingProblem{40, 7, 3}, {40, 100, 20}, {70, 1, 4}}) {
    problem.adds = true;
    KernelPair pair = embedding_grad_pair(
        problem, random_integers(problem.rows, 2, static_cast<int>(problem.words)));
    pair.inputs.push_back(random_operand(problem.words * problem.features, 3));
    pair.in_place = {{2, 0}};
    expect_same("embedding_grad_onto", pair);
  }
}

std::size_t bytes_to_sort(std::int64_t words) {
  CudaCompute compute({.plan_only = true});
  return make_embedding_grad_cuda(compute, {words, 50, 4})->workspace_bytes();
}

TEST(RowKernels, ADryRunKnowsWhatTheSortOfWordsTakesWithoutACard) {
  const std::size_t with_card = bytes_to_sort(3000);
  const cuda_emulation::Emulated without({.devices = 0});
  EXPECT_EQ(bytes_to_sort(3000), with_card);
  // A sorted pair of numbers for each word, and Thrust's own.
  EXPECT_GE(with_card, 3000 * 8 + thrust_sort_bytes(3000));
}

TEST(RowKernels, ThrustSortsInTheStorageThatItIsGiven) {
  for (const std::int64_t count : {1, 2, 1000, 50000}) {
    std::vector<std::int32_t> keys = random_integers(count, 1, 100), places(keys.size());
    std::iota(places.begin(), places.end(), 0);
    const auto sort = [&keys, &places](ThrustStorage storage) {
      thrust::stable_sort_by_key(thrust::seq(storage), keys.begin(), keys.end(), places.begin());
    };
    EXPECT_THROW(sort({}), std::runtime_error) << count;
    const std::vector<std::int32_t> before = keys;
    std::vector<std::byte> memory(thrust_sort_bytes(count));
    sort({memory.data(), memory.size()});
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    for (std::size_t k = 0; k < keys.size(); ++k) {
      ASSERT_EQ(keys[k], before[static_cast<std::size_t>(places[k])]);
      ASSERT_TRUE(k == 0 || keys[k - 1] < keys[k] || places[k - 1] < places[k]) << k;
    }
  }
}

TEST(RowKernels, ThrustIsToldHowMuchStorageIsLeft) {
  std::byte memory[512];
  ThrustStorage storage(memory, sizeof memory);
  EXPECT_EQ(storage.allocate(1), reinterpret_cast<char*>(memory));
  EXPECT_EQ(storage.allocate(256), reinterpret_cast<char*>(memory) + 256);
  try {
    storage.allocate(300);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "[thrust] needs 512 bytes of temporary storage, 0 bytes of the workspace are left");
  }
}

std::vector<float> floats_of(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string refusal_of(const KernelPair& pair) {
  try {
    run_on_emulation(pair);
  } catch (const std::out_of_range& error) {
    return error.what();
  }
  return "no error";
}

TEST(RowKernels, TheFirstWordThatIsNoneIsNamedAndGetsNoGradient) {
  const EmbeddingProblem problem{3, 5, 4};
  const std::vector<std::int32_t> ids = {-1, 2, 5};
  EXPECT_EQ(refusal_of(embedding_pair(problem, ids)),
            "[embedding] id of row 0, got -1, expected 0 to 4");
  const auto gradient = floats_of(run_on_emulation(embedding_grad_pair(problem, ids)).front());
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient[i] != 0, i / 4 == 2);
}

// Columns: fewer than a vector, fewer than threads, a row for one warp and for several, in fours
// and not.
constexpr std::pair<std::int64_t, std::int64_t> kMatrices[] = {
    {5, 1}, {9, 3}, {3, 10}, {5, 64}, {4, 999}, {2, 2000}, {2, 20003}};

TEST(RowKernels, CrossEntropyIsThatOfTheCpu) {
  for (const auto& [rows, classes] : kMatrices) {
    const CrossEntropyProblem problem{rows, classes, 0.7 * static_cast<double>(rows)};
    const Bytes labels = bytes_of(random_integers(rows, 2, static_cast<int>(classes)));
    expect_same("softmax_cross_entropy",
                {.cpu = [=] { return make_softmax_cross_entropy_cpu(problem); },
                 .cuda =
                     [=](CudaCompute& compute) {
                       return make_softmax_cross_entropy_cuda(compute, problem);
                     },
                 .inputs = {random_operand(rows * classes, 1, -20, 20), labels},
                 .outputs = {{{1}}, {{rows, classes}}},
                 .in_place = {{0, 1}},
                 .tolerance = 2e-5});  // of exp(x - log sum): an ulp of a difference of 30
    expect_same(
        "softmax_cross_entropy_grad",
        {.cpu = [=] { return make_softmax_cross_entropy_grad_cpu(problem); },
         .cuda =
             [=](CudaCompute& compute) {
               return make_softmax_cross_entropy_grad_cuda(compute, problem);
             },
         .inputs = {bytes_of(std::vector{0.5f}), random_operand(rows * classes, 1, 0, 1), labels},
         .outputs = {{{rows, classes}}},
         .in_place = {{1, 0}}});
  }
}

TEST(RowKernels, SmoothedAndWeightedCrossEntropyIsThatOfTheCpu) {
  for (const auto& [rows, classes] : kMatrices) {
    for (const bool weighted : {false, true}) {
      const CrossEntropyProblem problem{.rows = rows,
                                        .classes = classes,
                                        .divisor = weighted ? 0 : static_cast<double>(rows),
                                        .smoothing = 0.1f,
                                        .weighted = weighted};
      std::vector<Bytes> forward = {random_operand(rows * classes, 1, -20, 20),
                                    bytes_of(random_integers(rows, 2, static_cast<int>(classes)))};
      std::vector<Bytes> backward = {bytes_of(std::vector{0.5f}),
                                     random_operand(rows * classes, 1, 0, 1), forward[1]};
      for (std::vector<Bytes>* inputs : {&forward, &backward}) {
        if (weighted) inputs->push_back(random_operand(classes, 3, 0.1f, 4));
      }
      expect_same("smoothed cross_entropy",
                  {.cpu = [=] { return make_softmax_cross_entropy_cpu(problem); },
                   .cuda =
                       [=](CudaCompute& compute) {
                         return make_softmax_cross_entropy_cuda(compute, problem);
                       },
                   .inputs = forward,
                   .outputs = {{{1}}, {{rows, classes}}},
                   .in_place = {{0, 1}},
                   .tolerance = 2e-5});
      expect_same("smoothed cross_entropy_grad",
                  {.cpu = [=] { return make_softmax_cross_entropy_grad_cpu(problem); },
                   .cuda =
                       [=](CudaCompute& compute) {
                         return make_softmax_cross_entropy_grad_cuda(compute, problem);
                       },
                   .inputs = backward,
                   .outputs = {{{rows, classes}}},
                   .in_place = {{1, 0}},
                   .tolerance = 1e-6});
    }
  }
}

// Rows of one panel, of several, and of panels whose last is short.
TEST(RowKernels, LinearCrossEntropyIsThatOfTheCpu) {
  constexpr std::int64_t kPanel = LinearCrossEntropyProblem::kPanelRows, kIn = 12;
  for (const std::int64_t rows : {std::int64_t{3}, kPanel, 2 * kPanel + 5}) {
    for (const bool all : {false, true}) {
      const std::int64_t classes = all ? 67 : 20;
      const LinearCrossEntropyProblem problem{
          .linear = {{rows, kIn}, {classes, kIn}, {rows, classes}, all},
          .loss = {.rows = rows,
                   .classes = classes,
                   .divisor = all ? 0 : 3.0,
                   .smoothing = all ? 0.1f : 0,
                   .weighted = all},
          .grad_x = true,
          .grad_weight = true,
          .grad_bias = all};
      KernelPair pair{.cpu = [=] { return make_linear_cross_entropy_cpu(problem); },
                      .cuda =
                          [=](CudaCompute& compute) {
                            return make_linear_cross_entropy_cuda(compute, problem);
                          },
                      .inputs = {random_operand(rows * kIn, 1), random_operand(classes * kIn, 2)},
                      .outputs = {{{1}}, {problem.linear.x}, {problem.linear.weight}},
                      .in_place = {{0, 1}},
                      .tolerance = 2e-5};
      if (all) pair.inputs.push_back(random_operand(classes, 3));
      pair.inputs.push_back(bytes_of(random_integers(rows, 4, static_cast<int>(classes))));
      if (all) {
        pair.inputs.push_back(random_operand(classes, 5, 0.1f, 4));
        pair.outputs.push_back({Shape{classes}});
      }
      expect_same("linear_cross_entropy", pair);
    }
  }
}

TEST(RowKernels, ScaledGradientsAreThoseOfTheCpu) {
  for (const float factor : {1.0f, 0.3f}) {
    const ScaleProblem elements = {70, 3};
    expect_same(
        "scale_gradients",
        {.cpu = [=] { return make_scale_gradients_cpu(elements); },
         .cuda = [=](CudaCompute& compute) { return make_scale_gradients_cuda(compute, elements); },
         .inputs = {bytes_of(std::vector{factor}), random_operand(70, 1), random_operand(3, 2)},
         .outputs = {{Shape{70}}, {Shape{3}}},
         .in_place = {{1, 0}, {2, 1}}});
  }
}

TEST(RowKernels, LabelsThatAreNoClassesAreNamed) {
  for (const std::int32_t label : {-1, 4}) {
    const CrossEntropyProblem problem{2, 4, 2};
    const KernelPair pair{
        .cpu = nullptr,
        .cuda =
            [=](CudaCompute& compute) { return make_softmax_cross_entropy_cuda(compute, problem); },
        .inputs = {random_operand(8, 1), bytes_of(std::vector{0, label})},
        .outputs = {{{1}}, {{2, 4}}}};
    EXPECT_EQ(refusal_of(pair), "[softmax_cross_entropy] label of row 1, got " +
                                    std::to_string(label) + ", expected 0 to 3");
  }
}

TEST(RowKernels, LogSoftmaxIsThatOfTheCpu) {
  for (const auto& [rows_of, columns_of] : kMatrices) {
    const std::int64_t rows = rows_of, columns = columns_of;
    expect_same("log_softmax", {.cpu =
                                    [=] {
                                      return make_log_softmax_cpu({rows, columns});
                                    },
                                .cuda =
                                    [=](CudaCompute& compute) {
                                      return make_log_softmax_cuda(compute, {rows, columns});
                                    },
                                .inputs = {random_operand(rows * columns, 1, -20, 20)},
                                .outputs = {{{rows, columns}}},
                                .in_place = {{0, 0}},
                                .tolerance = 1e-6});
  }
}

KernelPair argmax_pair(std::int64_t rows, std::int64_t columns, const std::vector<float>& x) {
  return {.cpu =
              [=] {
                return make_argmax_cpu({rows, columns});
              },
          .cuda =
              [=](CudaCompute& compute) {
                return make_argmax_cuda(compute, {rows, columns});
              },
          .inputs = {bytes_of(x)},
          .outputs = {{{rows}, DType::kInt32}}};
}

TEST(RowKernels, ArgmaxFindsTheFirstOfEqualOnes) {
  for (const auto& [rows, columns] : kMatrices) {
    std::vector<float> x = random_floats(rows * columns, 1);
    for (float& value : x) value = std::round(3 * value);
    expect_same("argmax", argmax_pair(rows, columns, x));
  }
}

TEST(RowKernels, ArgmaxNeverFindsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  expect_same("argmax", argmax_pair(4, 4,
                                    {nan, 1, nan, 2,                  //
                                     nan, nan, nan, nan,              //
                                     nan, -infinity, -infinity, nan,  //
                                     -infinity, -infinity, infinity, infinity}));
}

}  // namespace
}  // namespace skyline
