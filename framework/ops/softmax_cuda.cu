#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "framework/ops/argmax_kernels.h"
#include "framework/ops/divider.h"
#include "framework/ops/log_softmax_kernels.h"
#include "framework/ops/reduce_cuda.h"
#include "framework/ops/softmax_cross_entropy_kernels.h"
#include "framework/ops/vectors_cuda.h"

// Rows of logits, a block a row. A row is read once for its largest logit and its sum together
// (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax") and once more to
// write.
//
// A kernel cannot throw LabelError: a label that is no class makes the loss and its row's gradient
// NaN.

namespace skyline {
namespace {

// Rows, a block each. Long rows get as many threads as a block can have: the fewer rows are on
// their way at a time, the more of them the cache still holds when they are read again.
struct RowGrid {
  RowGrid(std::int64_t rows_in, std::int64_t columns_in)
      : rows(rows_in),
        columns(columns_in),
        in_fours(columns_in % kFloats == 0),
        blocks(static_cast<unsigned>(std::min<std::int64_t>(rows_in, kMostBlocks))) {
    const std::uint64_t wanted = std::bit_ceil(static_cast<std::uint64_t>(columns / kColumns + 1));
    threads = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, kWarp, kMostThreads));
  }

  static constexpr unsigned kMostThreads = kMostWarps * kWarp;
  static constexpr std::int64_t kColumns = 16;  // of a thread, until there are enough threads

  std::int64_t rows, columns;
  bool in_fours;
  unsigned blocks, threads;
};

// The largest of some logits, and the sum of exp(logit - largest).
struct Softmax {
  float largest, total;
};

struct SoftmaxReduction {
  using Value = Softmax;
  static __device__ Softmax none() { return {std::numeric_limits<float>::lowest(), 0.0f}; }
  static __device__ Softmax other(Softmax value, int lanes) {
    return {__shfl_xor_sync(kAllLanes, value.largest, lanes),
            __shfl_xor_sync(kAllLanes, value.total, lanes)};
  }
  static __device__ Softmax combine(Softmax a, Softmax b) {
    const float largest = a.largest > b.largest ? a.largest : b.largest;
    return {largest,
            a.total * std::exp(a.largest - largest) + b.total * std::exp(b.largest - largest)};
  }
};

template <int kWidth>
__device__ Softmax softmax_of_row(const float* logits, std::int64_t columns) {
  Softmax own = SoftmaxReduction::none();
#pragma unroll 2
  for (std::int64_t k = threadIdx.x * kWidth; k < columns; k += blockDim.x * kWidth) {
    const auto values = load<kWidth>(logits + k);
    float largest = own.largest;
    for (const float value : values.at) largest = value > largest ? value : largest;
    float total = own.total * std::exp(own.largest - largest);
    for (const float value : values.at) total += std::exp(value - largest);
    own = {largest, total};
  }
  return reduce_block<SoftmaxReduction>(own);
}

struct CrossEntropyRows {
  CrossEntropyProblem problem;
  const float* logits;
  const std::int32_t* labels;
  float* probabilities;  // may be the logits
  double* losses;        // one a row
};

template <int kWidth>
__global__ void __launch_bounds__(RowGrid::kMostThreads)
    softmax_cross_entropy_kernel(CrossEntropyRows rows) {
  const std::int64_t classes = rows.problem.classes;
  for (std::int64_t row = blockIdx.x; row < rows.problem.rows; row += gridDim.x) {
    const float* logits = rows.logits + row * classes;
    const std::int32_t label = rows.labels[row];
    const bool known = label >= 0 && label < classes;
    const double label_logit =
        known ? double{logits[label]} : std::numeric_limits<double>::quiet_NaN();
    const Softmax softmax = softmax_of_row<kWidth>(logits, classes);  // all have read the label's
    if (threadIdx.x == 0) {
      rows.losses[row] = std::log(double{softmax.total}) - (label_logit - double{softmax.largest});
    }
    const float scale = 1.0f / softmax.total;
    for (std::int64_t k = threadIdx.x * kWidth; k < classes; k += blockDim.x * kWidth) {
      auto values = load<kWidth>(logits + k);
      for (float& value : values.at) value = std::exp(value - softmax.largest) * scale;
      store(rows.probabilities + row * classes + k, values);
    }
  }
}

__global__ void mean_loss_kernel(const double* losses, CrossEntropyProblem problem, float* loss) {
  double sum = 0;
  for (std::int64_t row = threadIdx.x; row < problem.rows; row += blockDim.x) sum += losses[row];
  sum = reduce_block<Adding<double>>(sum);
  if (threadIdx.x == 0) *loss = static_cast<float>(sum / problem.divisor);
}

template <int kWidth>
__global__ void __launch_bounds__(RowGrid::kMostThreads)
    log_softmax_kernel(const float* logits, std::int64_t rows, std::int64_t columns,
                       float* output) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Softmax softmax = softmax_of_row<kWidth>(logits + row * columns, columns);
    const float logarithm = std::log(softmax.total);
    for (std::int64_t k = threadIdx.x * kWidth; k < columns; k += blockDim.x * kWidth) {
      auto values = load<kWidth>(logits + row * columns + k);
      for (float& value : values.at) value = value - softmax.largest - logarithm;
      store(output + row * columns + k, values);
    }
  }
}

// The first column of the largest element. NaN is never the largest.
struct LargestColumn {
  float value;
  std::int32_t column;
};

struct LargestReduction {
  using Value = LargestColumn;
  static __device__ LargestColumn none() {
    return {-std::numeric_limits<float>::infinity(), std::numeric_limits<std::int32_t>::max()};
  }
  static __device__ LargestColumn other(LargestColumn value, int lanes) {
    return {__shfl_xor_sync(kAllLanes, value.value, lanes),
            __shfl_xor_sync(kAllLanes, value.column, lanes)};
  }
  static __device__ LargestColumn combine(LargestColumn a, LargestColumn b) {
    const bool second = b.value > a.value || (b.value == a.value && b.column < a.column);
    return second ? b : a;
  }
};

template <int kWidth>
__global__ void __launch_bounds__(RowGrid::kMostThreads)
    argmax_kernel(const float* input, std::int64_t rows, std::int64_t columns,
                  std::int32_t* output) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    LargestColumn largest = LargestReduction::none();
#pragma unroll 4
    for (std::int64_t k = threadIdx.x * kWidth; k < columns; k += blockDim.x * kWidth) {
      const auto values = load<kWidth>(input + row * columns + k);
      for (int j = 0; j < kWidth; ++j) {
        largest =
            LargestReduction::combine(largest, {values.at[j], static_cast<std::int32_t>(k + j)});
      }
    }
    largest = reduce_block<LargestReduction>(largest);
    const bool none = largest.column == LargestReduction::none().column;
    if (threadIdx.x == 0) output[row] = none ? 0 : largest.column;
  }
}

class SoftmaxCrossEntropyKernelCuda : public Kernel {
 public:
  SoftmaxCrossEntropyKernelCuda(CudaCompute& compute, const CrossEntropyProblem& problem)
      : compute_(compute), problem_(problem), grid_(problem.rows, problem.classes) {}

  // Each row's loss.
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(problem_.rows) * sizeof(double);
  }

  void run(const KernelArguments& arguments) override {
    auto* losses = reinterpret_cast<double*>(arguments.workspace);
    with_width(grid_.in_fours, [&](auto width) {
      launch(compute_, grid_.blocks, grid_.threads, softmax_cross_entropy_kernel<width.value>,
             CrossEntropyRows{problem_, arguments.input<float>(0), arguments.input<std::int32_t>(1),
                              arguments.output<float>(1), losses});
    });
    launch(compute_, 1, kThreads, mean_loss_kernel, losses, problem_, arguments.output<float>(0));
  }

 private:
  CudaCompute& compute_;
  CrossEntropyProblem problem_;
  RowGrid grid_;
};

template <int kWidth>
struct CrossEntropyGradBody {
  std::int64_t classes;
  float divisor;
  const float* grad_output;
  const float* probabilities;
  const std::int32_t* labels;
  float* grad_logits;
  Divider units_per_row;

  __device__ void operator()(std::int64_t unit) const {
    const auto [row, place] = units_per_row(unit);
    const std::int64_t label = labels[row];
    const float scale = label >= 0 && label < classes ? *grad_output / divisor
                                                      : std::numeric_limits<float>::quiet_NaN();
    auto values = load<kWidth>(probabilities + unit * kWidth);
    for (int k = 0; k < kWidth; ++k) {
      const bool is_label = place * kWidth + k == label;
      values.at[k] = (is_label ? values.at[k] - 1.0f : values.at[k]) * scale;
    }
    store(grad_logits + unit * kWidth, values);
  }
};

class SoftmaxCrossEntropyGradKernelCuda : public Kernel {
 public:
  SoftmaxCrossEntropyGradKernelCuda(CudaCompute& compute, const CrossEntropyProblem& problem)
      : compute_(compute), problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    with_width(problem_.classes % kFloats == 0, [&](auto width) {
      const std::int64_t units = problem_.classes / width;
      for_each_index(
          compute_, problem_.rows * units,
          CrossEntropyGradBody<width.value>{problem_.classes, static_cast<float>(problem_.divisor),
                                            arguments.input<float>(0), arguments.input<float>(1),
                                            arguments.input<std::int32_t>(2),
                                            arguments.output<float>(0), Divider(units)});
    });
  }

 private:
  CudaCompute& compute_;
  CrossEntropyProblem problem_;
};

class LogSoftmaxKernelCuda : public Kernel {
 public:
  LogSoftmaxKernelCuda(CudaCompute& compute, std::int64_t rows, std::int64_t columns)
      : compute_(compute), grid_(rows, columns) {}

  void run(const KernelArguments& arguments) override {
    with_width(grid_.in_fours, [&](auto width) {
      launch(compute_, grid_.blocks, grid_.threads, log_softmax_kernel<width.value>,
             arguments.input<float>(0), grid_.rows, grid_.columns, arguments.output<float>(0));
    });
  }

 private:
  CudaCompute& compute_;
  RowGrid grid_;
};

class ArgmaxKernelCuda : public Kernel {
 public:
  ArgmaxKernelCuda(CudaCompute& compute, std::int64_t rows, std::int64_t columns)
      : compute_(compute), grid_(rows, columns) {}

  void run(const KernelArguments& arguments) override {
    with_width(grid_.in_fours, [&](auto width) {
      launch(compute_, grid_.blocks, grid_.threads, argmax_kernel<width.value>,
             arguments.input<float>(0), grid_.rows, grid_.columns,
             arguments.output<std::int32_t>(0));
    });
  }

 private:
  CudaCompute& compute_;
  RowGrid grid_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cuda(CudaCompute& compute,
                                                        const CrossEntropyProblem& problem) {
  return std::make_unique<SoftmaxCrossEntropyKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cuda(CudaCompute& compute,
                                                             const CrossEntropyProblem& problem) {
  return std::make_unique<SoftmaxCrossEntropyGradKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_log_softmax_cuda(CudaCompute& compute, std::int64_t rows,
                                              std::int64_t columns) {
  return std::make_unique<LogSoftmaxKernelCuda>(compute, rows, columns);
}

std::unique_ptr<Kernel> make_argmax_cuda(CudaCompute& compute, std::int64_t rows,
                                         std::int64_t columns) {
  return std::make_unique<ArgmaxKernelCuda>(compute, rows, columns);
}

}  // namespace skyline
