#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <limits>

#include "framework/kernel.h"
#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/embedding_kernels.h"
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
    const float* from = table + id * features + column * kWidth;
    store(output + unit * kWidth,
          known ? load<kWidth>(from) : vector_of<kWidth>(std::numeric_limits<float>::quiet_NaN()));
  }
};

class EmbeddingKernelCuda : public Kernel {
 public:
  EmbeddingKernelCuda(CudaCompute& compute, const EmbeddingProblem& problem)
      : compute_(compute), problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    auto* wrong = compute_.wrong_values().place(raise_word_error, problem_.words);
    with_width(problem_.features % kFloats == 0, [&](auto width) {
      const std::int64_t units = problem_.features / width;
      for_each_index(
          compute_, problem_.rows * units,
          EmbeddingBody<width.value>{arguments.input<std::int32_t>(0), arguments.input<float>(1),
                                     arguments.output<float>(0), problem_.words, problem_.features,
                                     Divider(units), wrong});
    });
  }

 private:
  CudaCompute& compute_;
  EmbeddingProblem problem_;
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
  store(grad_table + id * features + column, sum);
}

class EmbeddingGradKernelCuda : public Kernel {
 public:
  EmbeddingGradKernelCuda(CudaCompute& compute, const EmbeddingProblem& problem)
      : compute_(compute), problem_(problem) {
    const std::size_t bytes = static_cast<std::size_t>(problem.rows) * sizeof(std::int32_t);
    ids_ = workspace_.add(bytes);
    rows_ = workspace_.add(bytes);
    storage_ = workspace_.add(thrust_sort_bytes(problem.rows));
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const KernelArguments& arguments) override {
    const std::int64_t rows = problem_.rows, features = problem_.features;
    const SortedRows sorted{reinterpret_cast<std::int32_t*>(arguments.workspace + ids_),
                            reinterpret_cast<std::int32_t*>(arguments.workspace + rows_)};
    run_thrust(compute_, {arguments.workspace + storage_, thrust_sort_bytes(rows)},
               [=, ids = arguments.input<std::int32_t>(0)](const auto& policy) {
                 thrust::copy_n(policy, ids, rows, sorted.ids);
                 thrust::sequence(policy, sorted.rows, sorted.rows + rows);
                 thrust::stable_sort_by_key(policy, sorted.ids, sorted.ids + rows, sorted.rows);
               });
    compute_.zero(arguments.outputs[0],
                  static_cast<std::size_t>(problem_.words * features) * sizeof(float));
    with_width(features % kFloats == 0, [&](auto width) {
      constexpr unsigned kBlock = 128;
      const auto columns = static_cast<unsigned>((features / width + kBlock - 1) / kBlock);
      launch(compute_, dim3(static_cast<unsigned>(rows), columns), kBlock,
             sum_rows_kernel<width.value>, problem_, sorted, arguments.input<float>(1),
             arguments.output<float>(0));
    });
  }

 private:
  CudaCompute& compute_;
  EmbeddingProblem problem_;
  WorkspaceLayout workspace_;
  std::size_t ids_, rows_, storage_;
};

}  // namespace

std::unique_ptr<Kernel> make_embedding_cuda(CudaCompute& compute, const EmbeddingProblem& problem) {
  return std::make_unique<EmbeddingKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_embedding_grad_cuda(CudaCompute& compute,
                                                 const EmbeddingProblem& problem) {
  return std::make_unique<EmbeddingGradKernelCuda>(compute, problem);
}

}  // namespace skyline
