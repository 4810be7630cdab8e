#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <limits>

#include "framework/kernel.h"
#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/thrust_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

// A kernel cannot throw WordError: it notes an unknown id, whose row becomes NaN and whose gradient
// is dropped.

namespace skyline {
namespace {

void raise_word_error(std::int64_t row, std::int32_t id, std::int64_t words) {
  throw WordError(row, id, words);
}

template <int kWidth>
struct EmbeddingBody {
  const std::int32_t* ids;
  const float* table;
  float* output;
  std::int64_t words, features;
  Divider units_per_row;
  unsigned long long* wrong;

  __device__ void operator()(std::int64_t unit) const {
    const auto [row, column] = units_per_row(unit);
    const std::int32_t id = ids[row];
    const bool known = id >= 0 && id < words;
    if (!known && column == 0) note_wrong_value(wrong, row, id);
    store(output + unit * kWidth, known
                                      ? load<kWidth>(table + id * features + column * kWidth)
                                      : vector_of<kWidth>(std::numeric_limits<float>::quiet_NaN()));
  }
};

// Rows sorted by (id, row).
struct SortedRows {
  std::int32_t* ids;
  std::int32_t* rows;
};

// One block along x for each sorted place; the blocks along y share its features. Where an id
// begins, its rows are added in order.
template <int kWidth>
__global__ void sum_rows_kernel(EmbeddingProblem problem, SortedRows sorted,
                                const float* grad_output, float* grad_table) {
  const std::int64_t features = problem.features, place = blockIdx.x;
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * kWidth;
  const std::int32_t *ids = sorted.ids + place, *end = sorted.ids + problem.rows;
  const std::int32_t id = *ids;
  if (column >= features || id < 0 || id >= problem.words) return;
  if (place > 0 && ids[-1] == id) return;
  const std::int64_t length = thrust::upper_bound(thrust::seq, ids, end, id) - ids;
  const std::int32_t* rows = sorted.rows + place;
  auto sum = load<kWidth>(grad_output + rows[0] * features + column);
#pragma unroll 8  // a frequent word has hundreds of rows
  for (std::int64_t k = 1; k < length; ++k) {
    const auto more = load<kWidth>(grad_output + rows[k] * features + column);
    for (int j = 0; j < kWidth; ++j) sum.at[j] += more.at[j];
  }
  float* const to = grad_table + id * features + column;
  if (problem.adds) {
    const auto before = load<kWidth>(to);
    for (int j = 0; j < kWidth; ++j) sum.at[j] = before.at[j] + sum.at[j];
  }
  store(to, sum);
}

}  // namespace

std::unique_ptr<Kernel> make_embedding_cuda(CudaCompute& compute, const EmbeddingProblem& problem) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    auto* wrong = compute.wrong_values().place(raise_word_error, problem.words);
    with_width(problem.features % kFloats == 0, [&](auto width) {
      const std::int64_t units = problem.features / width;
      for_each_index(
          compute, problem.rows * units,
          EmbeddingBody<width.value>{arguments.input<std::int32_t>(0), arguments.input<float>(1),
                                     arguments.output<float>(0), problem.words, problem.features,
                                     Divider(units), wrong});
    });
  });
}

std::unique_ptr<Kernel> make_embedding_grad_cuda(CudaCompute& compute,
                                                 const EmbeddingProblem& problem) {
  const std::size_t bytes = static_cast<std::size_t>(problem.rows) * sizeof(std::int32_t);
  WorkspaceLayout workspace;
  const std::size_t ids_at = workspace.add(bytes), rows_at = workspace.add(bytes);
  const std::size_t storage_at = workspace.add(thrust_sort_bytes(problem.rows));
  return make_kernel(workspace.bytes(), [=, &compute](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, features = problem.features;
    const SortedRows sorted{reinterpret_cast<std::int32_t*>(arguments.workspace + ids_at),
                            reinterpret_cast<std::int32_t*>(arguments.workspace + rows_at)};
    run_thrust(compute, {arguments.workspace + storage_at, thrust_sort_bytes(rows)},
               [=, ids = arguments.input<std::int32_t>(0)](const auto& policy) {
                 thrust::copy_n(policy, ids, rows, sorted.ids);
                 thrust::sequence(policy, sorted.rows, sorted.rows + rows);
                 thrust::stable_sort_by_key(policy, sorted.ids, sorted.ids + rows, sorted.rows);
               });
    const std::int64_t elements = problem.words * features;
    if (!problem.adds) {
      compute.zero(arguments.outputs[0], static_cast<std::size_t>(elements) * sizeof(float));
    } else if (arguments.outputs[0] != arguments.inputs[2]) {
      run_thrust(compute, {},
                 [elements, from = arguments.input<float>(2), to = arguments.output<float>(0)](
                     const auto& policy) { thrust::copy_n(policy, from, elements, to); });
    }
    with_width(features % kFloats == 0, [&](auto width) {
      constexpr unsigned kBlock = 128;
      const auto columns = static_cast<unsigned>((features / width + kBlock - 1) / kBlock);
      launch(compute, dim3(static_cast<unsigned>(rows), columns), kBlock,
             sum_rows_kernel<width.value>, problem, sorted, arguments.input<float>(1),
             arguments.output<float>(0));
    });
  });
}

}  // namespace skyline
