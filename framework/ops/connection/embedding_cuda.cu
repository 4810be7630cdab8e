#include <limits>

#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/embedding_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/reduce_cuda.h"
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

// Rows sorted by (id, row), and how many rows of the same id follow each place; 0 except where an
// id begins.
struct SortedRows {
  std::int32_t* rows;
  std::int32_t* lengths;
};

// Each warp counts the rows that sort before its own, which needs no order among threads. A few
// thousand rows are counted while the table's gradient is cleared.
__global__ void sort_rows_kernel(const std::int32_t* ids, std::int64_t rows, SortedRows sorted) {
  const std::int64_t row = thread_of_grid() / kWarp;
  if (row >= rows) return;
  const std::int32_t id = ids[row];
  int smaller = 0, earlier = 0, equal = 0;
#pragma unroll 4
  for (std::int64_t other = threadIdx.x % kWarp; other < rows; other += kWarp) {
    smaller += ids[other] < id;
    equal += ids[other] == id;
    earlier += ids[other] == id && other < row;
  }
  smaller = reduce_warp<Adding<int>>(smaller);
  earlier = reduce_warp<Adding<int>>(earlier);
  equal = reduce_warp<Adding<int>>(equal);
  if (threadIdx.x % kWarp != 0) return;
  sorted.rows[smaller + earlier] = static_cast<std::int32_t>(row);
  sorted.lengths[smaller + earlier] = earlier == 0 ? equal : 0;
}

// One block along x for each sorted place; the blocks along y share its features. Where an id
// begins, its rows are added in order.
template <int kWidth>
__global__ void sum_rows_kernel(EmbeddingProblem problem, const std::int32_t* ids,
                                SortedRows sorted, const float* grad_output, float* grad_table) {
  const std::int64_t features = problem.features;
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * kWidth;
  const std::int32_t* rows = sorted.rows + blockIdx.x;
  const int length = sorted.lengths[blockIdx.x];
  if (length == 0 || column >= features) return;
  const std::int32_t id = ids[rows[0]];
  if (id < 0 || id >= problem.words) return;
  auto sum = load<kWidth>(grad_output + rows[0] * features + column);
#pragma unroll 8  // a frequent word has hundreds of rows
  for (int k = 1; k < length; ++k) {
    const auto more = load<kWidth>(grad_output + rows[k] * features + column);
    for (int j = 0; j < kWidth; ++j) sum.at[j] += more.at[j];
  }
  store(grad_table + id * features + column, sum);
}

class EmbeddingGradKernelCuda : public Kernel {
 public:
  EmbeddingGradKernelCuda(CudaCompute& compute, const EmbeddingProblem& problem)
      : compute_(compute), problem_(problem) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(2 * problem_.rows) * sizeof(std::int32_t);
  }

  void run(const KernelArguments& arguments) override {
    const auto* ids = arguments.input<std::int32_t>(0);
    auto* workspace = reinterpret_cast<std::int32_t*>(arguments.workspace);
    const std::int64_t rows = problem_.rows, features = problem_.features;
    const SortedRows sorted{workspace, workspace + rows};
    launch(compute_, blocks_for(rows * kWarp), kThreads, sort_rows_kernel, ids, rows, sorted);
    compute_.zero(arguments.outputs[0],
                  static_cast<std::size_t>(problem_.words * features) * sizeof(float));
    with_width(features % kFloats == 0, [&](auto width) {
      constexpr unsigned kBlock = 128;
      const auto columns = static_cast<unsigned>((features / width + kBlock - 1) / kBlock);
      launch(compute_, dim3(static_cast<unsigned>(rows), columns), kBlock,
             sum_rows_kernel<width.value>, problem_, ids, sorted, arguments.input<float>(1),
             arguments.output<float>(0));
    });
  }

 private:
  CudaCompute& compute_;
  EmbeddingProblem problem_;
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
