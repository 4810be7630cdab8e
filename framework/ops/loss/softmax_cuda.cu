#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "framework/cuda/cublas/product.h"
#include "framework/ops/loss/softmax.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/reduce_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

// Rows of logits, a block a row. A row is read once for its largest logit and its sum together
// (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax") and once more to be
// written.
//
// A kernel cannot throw LabelError: it notes an unknown label, which makes the loss and its row's
// gradient NaN.

namespace skyline {
namespace {

// A grid with one block a row. Long rows get the most threads that a block can have: the fewer rows
// are in flight, the more of them are still cached when they are read again.
struct RowGrid {
  RowGrid(std::int64_t rows, std::int64_t columns_in)
      : columns(columns_in), blocks(static_cast<unsigned>(rows)) {
    const std::uint64_t wanted = std::bit_ceil(static_cast<std::uint64_t>(columns / kColumns + 1));
    threads = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, kWarp, kMostThreads));
  }

  static constexpr unsigned kMostThreads = kMostWarps * kWarp;
  static constexpr std::int64_t kColumns = 16;  // of a thread, until the block has its most threads

  std::int64_t columns;
  unsigned blocks, threads;
};

// Calls body(width, i) for elements i … i + width - 1 until all `columns` elements of this block's
// row are done. In rows that are not in fours, the elements between the first and the last multiple
// of 16 bytes still go four at a time.
template <typename Body>
__device__ void for_each_of_row(std::int64_t columns, const Body& body) {
  const std::int64_t begin = blockIdx.x * columns, end = begin + columns;
  const std::int64_t first = (begin + kFloats - 1) / kFloats, last = end / kFloats;
  const std::int64_t head = first * kFloats < end ? first * kFloats : end;
  const std::int64_t tail = last * kFloats > head ? last * kFloats : head;
  if (begin + threadIdx.x < head) body(Width<1>{}, begin + threadIdx.x);
#pragma unroll 2
  for (std::int64_t vector = first + threadIdx.x; vector < last; vector += blockDim.x) {
    body(Width<kFloats>{}, vector * kFloats);
  }
  if (tail + threadIdx.x < end) body(Width<1>{}, tail + threadIdx.x);
}

// The largest of some logits, and the sum of exp(logit - largest).
struct Softmax {
  float largest, total;
};

struct SoftmaxReduction {
  using Value = Softmax;
  static __device__ Softmax none() { return {std::numeric_limits<float>::lowest(), 0.0f}; }
  static __device__ Softmax other(Softmax value, int threads) {
    return {__shfl_xor_sync(kWholeWarp, value.largest, threads),
            __shfl_xor_sync(kWholeWarp, value.total, threads)};
  }
  static __device__ Softmax combine(Softmax a, Softmax b) {
    const float largest = a.largest > b.largest ? a.largest : b.largest;
    return {largest,
            a.total * std::exp(a.largest - largest) + b.total * std::exp(b.largest - largest)};
  }
};

// Returns the Softmax of the block's row of `logits`.
__device__ Softmax softmax_of_row(const float* logits, std::int64_t columns) {
  Softmax own = SoftmaxReduction::none();
  for_each_of_row(columns, [&](auto width, std::int64_t i) {
    const auto values = load<width.value>(logits + i);
    float largest = own.largest;
    for (const float value : values.at) largest = value > largest ? value : largest;
    float total = own.total * std::exp(own.largest - largest);
    for (const float value : values.at) total += std::exp(value - largest);
    own = {largest, total};
  });
  return reduce_block<SoftmaxReduction>(own);
}

void raise_label_error(std::int64_t row, std::int32_t label, std::int64_t classes) {
  throw LabelError(row, label, classes);
}

// The labels of all rows and the weights of classes; null: each class has weight 1.
struct Targets {
  CrossEntropyProblem problem;
  const std::int32_t* labels;
  const float* weights;
  std::int64_t first_row = 0;  // of the first block

  __device__ std::int64_t row() const { return first_row + blockIdx.x; }
  __device__ bool knows(std::int64_t row) const {
    return labels[row] >= 0 && labels[row] < problem.classes;
  }
  __device__ float weight(std::int64_t k) const { return weights == nullptr ? 1.0f : weights[k]; }
  // Returns the target of a row with a known label. All threads of the block must call this and
  // the next function.
  __device__ CrossEntropyTarget of(std::int64_t row) const {
    double sum = 0;
    if (weights != nullptr) {
      for (std::int64_t k = threadIdx.x; k < problem.classes; k += blockDim.x) sum += weights[k];
      sum = reduce_block<Adding<double>>(sum);
    }
    const double mean = weights == nullptr ? 1.0 : sum / static_cast<double>(problem.classes);
    return target_of(problem, knows(row) ? weight(labels[row]) : 0.0f, static_cast<float>(mean));
  }
  __device__ double divisor() const {
    if (problem.divisor != 0) return problem.divisor;
    double sum = 0;
    for (std::int64_t row = threadIdx.x; row < problem.rows; row += blockDim.x) {
      if (knows(row)) sum += weight(labels[row]);
    }
    return reduce_block<Adding<double>>(sum);
  }
};

Targets targets_of(const CrossEntropyProblem& problem, const KernelArguments& arguments,
                   std::size_t labels) {
  return {problem, arguments.input<std::int32_t>(labels),
          problem.weighted ? arguments.input<float>(labels + 1) : nullptr};
}

struct CrossEntropyRows {
  Targets targets;
  const float* logits;   // of the first block's row and those after it
  float* probabilities;  // may be the logits
  double* losses;        // one for each of all rows
  unsigned long long* wrong;
};

__global__ void __launch_bounds__(RowGrid::kMostThreads)
    softmax_cross_entropy_kernel(CrossEntropyRows rows) {
  const std::int64_t row = rows.targets.row(), classes = rows.targets.problem.classes;
  const std::int64_t begin = blockIdx.x * classes;
  const std::int32_t label = rows.targets.labels[row];
  const bool known = rows.targets.knows(row);
  const double label_logit =
      known ? double{rows.logits[begin + label]} : std::numeric_limits<double>::quiet_NaN();
  const Softmax softmax = softmax_of_row(rows.logits, classes);  // all have read the label's logit
  const CrossEntropyTarget target = rows.targets.of(row);
  double wanted = 0;  // of all classes, each logit less the largest
  if (target.of_each > 0) {
    for_each_of_row(classes, [&](auto width, std::int64_t i) {
      const auto values = load<width.value>(rows.logits + i);
      for (int k = 0; k < width; ++k) {
        const float share = target.of_each * rows.targets.weight(i + k - begin);
        wanted += double{share} * (double{values.at[k]} - double{softmax.largest});
      }
    });
    wanted = reduce_block<Adding<double>>(wanted);
  }
  if (threadIdx.x == 0) {
    if (!known) note_wrong_value(rows.wrong, row, label);
    wanted += target.of_label * (label_logit - double{softmax.largest});
    rows.losses[row] = target.total * std::log(double{softmax.total}) - wanted;
  }
  const float scale = 1.0f / softmax.total;
  for_each_of_row(classes, [&](auto width, std::int64_t i) {
    auto values = load<width.value>(rows.logits + i);
    for (float& value : values.at) value = std::exp(value - softmax.largest) * scale;
    store(rows.probabilities + i, values);
  });
}

__global__ void mean_loss_kernel(const double* losses, Targets targets, float* loss) {
  const std::int64_t rows = targets.problem.rows;
  double sum = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += blockDim.x) sum += losses[row];
  sum = reduce_block<Adding<double>>(sum);
  const double divisor = targets.divisor();
  if (threadIdx.x == 0) *loss = static_cast<float>(sum / divisor);
}

__global__ void __launch_bounds__(RowGrid::kMostThreads)
    log_softmax_kernel(const float* logits, std::int64_t columns, float* output) {
  const Softmax softmax = softmax_of_row(logits, columns);
  const float logarithm = std::log(softmax.total);
  for_each_of_row(columns, [&](auto width, std::int64_t i) {
    auto values = load<width.value>(logits + i);
    for (float& value : values.at) value = value - softmax.largest - logarithm;
    store(output + i, values);
  });
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
  static __device__ LargestColumn other(LargestColumn value, int threads) {
    return {__shfl_xor_sync(kWholeWarp, value.value, threads),
            __shfl_xor_sync(kWholeWarp, value.column, threads)};
  }
  static __device__ LargestColumn combine(LargestColumn a, LargestColumn b) {
    const bool second = b.value > a.value || (b.value == a.value && b.column < a.column);
    return second ? b : a;
  }
};

__global__ void __launch_bounds__(RowGrid::kMostThreads)
    argmax_kernel(const float* input, std::int64_t columns, std::int32_t* output) {
  LargestColumn largest = LargestReduction::none();
  const std::int64_t begin = blockIdx.x * columns;
  for_each_of_row(columns, [&](auto width, std::int64_t i) {
    const auto values = load<width.value>(input + i);
    for (int k = 0; k < width; ++k) {
      const auto column = static_cast<std::int32_t>(i + k - begin);
      largest = LargestReduction::combine(largest, {values.at[k], column});
    }
  });
  largest = reduce_block<LargestReduction>(largest);
  const bool none = largest.column == LargestReduction::none().column;
  if (threadIdx.x == 0) output[blockIdx.x] = none ? 0 : largest.column;
}

__global__ void __launch_bounds__(RowGrid::kMostThreads)
    softmax_cross_entropy_grad_kernel(Targets targets, const float* grad_output,
                                      const float* probabilities, float* grad_logits) {
  const std::int64_t row = targets.row(), label = targets.labels[row];
  const CrossEntropyTarget target = targets.of(row);
  const double divisor = targets.divisor();
  const float gradient = grad_output == nullptr ? 1.0f : *grad_output;
  const float scale = targets.knows(row) ? gradient / static_cast<float>(divisor)
                                         : std::numeric_limits<float>::quiet_NaN();
  const std::int64_t begin = blockIdx.x * targets.problem.classes;
  for_each_of_row(targets.problem.classes, [&](auto width, std::int64_t i) {
    auto values = load<width.value>(probabilities + i);
    for (int k = 0; k < width; ++k) {
      float wanted = target.of_each > 0 ? target.of_each * targets.weight(i + k - begin) : 0.0f;
      if (i + k == begin + label) wanted += target.of_label;
      values.at[k] = (target.total * values.at[k] - wanted) * scale;
    }
    store(grad_logits + i, values);
  });
}

// Writes the sum of each column over the rows of a panel, or adds it to what is there.
__global__ void sum_columns_kernel(const float* matrix, std::int64_t rows, std::int64_t columns,
                                   bool add, float* sums) {
  const std::int64_t column = thread_of_grid();
  if (column >= columns) return;
  float total = add ? sums[column] : 0.0f;
#pragma unroll 8
  for (std::int64_t row = 0; row < rows; ++row) total += matrix[row * columns + column];
  sums[column] = total;
}

struct ScaleBody {
  const float *factor, *from;
  float* to;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    const float by = *factor;
    if (by == 1 && from == to) return;
    auto values = load<kWidth>(from + i);
    for (float& value : values.at) value *= by;
    store(to + i, values);
  }
};

class LinearCrossEntropyCuda final : public Kernel {
 public:
  LinearCrossEntropyCuda(CudaCompute& compute, const LinearCrossEntropyProblem& problem)
      : compute_(compute), problem_(problem) {
    std::size_t scratch_bytes = 0;
    const auto product = [&](const ProductProblem& wanted) {
      scratch_bytes = std::max(scratch_bytes, product_workspace_bytes(wanted));
      return std::shared_ptr<Product>(make_product(compute, wanted));
    };
    const std::int64_t features = problem.linear.x[1], classes = problem.loss.classes;
    for (const RowRange& rows : problem.panels()) {
      const bool like_before = panels_.size() > 1 && panels_.back().rows.count == rows.count;
      Panel panel = like_before ? panels_.back() : Panel{};
      panel.rows = rows;
      if (!like_before) {
        panel.logits = product({.rows = rows.count,
                                .columns = classes,
                                .inner = features,
                                .transposed_b = true,
                                .bias = problem.linear.bias});
        panel.grad_weight = product({.rows = classes,
                                     .columns = features,
                                     .inner = rows.count,
                                     .transposed_a = true,
                                     .add = rows.first > 0});
        panel.grad_x = product({.rows = rows.count, .columns = features, .inner = classes});
      }
      panels_.push_back(std::move(panel));
    }
    workspace_.add(scratch_bytes);  // first, for it must be aligned as the whole
    logits_ = workspace_.add_floats(panels_.front().rows.count * classes);
    losses_ = workspace_.add(static_cast<std::size_t>(problem.loss.rows) * sizeof(double));
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const KernelArguments& arguments) override {
    Targets targets = targets_of(problem_.loss, arguments, problem_.labels());
    for (const Panel& panel : panels_) {
      targets.first_row = panel.rows.first;
      run_panel(panel, targets, arguments);
    }
    launch(compute_, 1, kThreads, mean_loss_kernel,
           reinterpret_cast<double*>(arguments.workspace + losses_), targets,
           arguments.output<float>(0));
  }

 private:
  struct Panel {
    RowRange rows;
    std::shared_ptr<Product> logits, grad_weight, grad_x;
  };

  // grad_x comes last, because it may be x.
  void run_panel(const Panel& panel, const Targets& targets, const KernelArguments& arguments) {
    const std::int64_t x_begin = panel.rows.first * problem_.linear.x[1];
    const std::int64_t classes = problem_.loss.classes;
    const RowGrid grid(panel.rows.count, classes);
    const float* const x = arguments.input<float>(0) + x_begin;
    const float* const weight = arguments.input<float>(1);
    std::byte* const scratch = arguments.workspace;
    auto* const logits = reinterpret_cast<float*>(arguments.workspace + logits_);
    panel.logits->run({.a = x,
                       .b = weight,
                       .bias = problem_.linear.bias ? arguments.input<float>(2) : nullptr,
                       .c = logits,
                       .workspace = scratch});
    launch(compute_, grid.blocks, grid.threads, softmax_cross_entropy_kernel,
           CrossEntropyRows{targets, logits, logits,
                            reinterpret_cast<double*>(arguments.workspace + losses_),
                            compute_.wrong_values().place(raise_label_error, classes)});
    if (!problem_.makes_gradients()) return;
    launch(compute_, grid.blocks, grid.threads, softmax_cross_entropy_grad_kernel, targets, nullptr,
           logits, logits);
    std::size_t output = problem_.grad_x ? 2 : 1;
    if (problem_.grad_weight) {
      panel.grad_weight->run(
          {.a = logits, .b = x, .c = arguments.output<float>(output++), .workspace = scratch});
    }
    if (problem_.grad_bias) {
      launch(compute_, blocks_for(classes), kThreads, sum_columns_kernel, logits, panel.rows.count,
             classes, panel.rows.first > 0, arguments.output<float>(output));
    }
    if (!problem_.grad_x) return;
    panel.grad_x->run({.a = logits,
                       .b = weight,
                       .c = arguments.output<float>(1) + x_begin,
                       .workspace = scratch});
  }

  CudaCompute& compute_;
  LinearCrossEntropyProblem problem_;
  std::vector<Panel> panels_;
  WorkspaceLayout workspace_;
  std::size_t logits_ = 0, losses_ = 0;
};

// `kernel` reads input 0 and writes output 0 of type Output.
template <typename Output>
std::unique_ptr<Kernel> make_row_kernel(CudaCompute& compute, const LogitsProblem& problem,
                                        void (*kernel)(const float*, std::int64_t, Output*)) {
  return make_kernel([=, &compute, grid = RowGrid(problem.rows, problem.columns)](
                         const KernelArguments& arguments) {
    launch(compute, grid.blocks, grid.threads, kernel, arguments.input<float>(0), grid.columns,
           arguments.output<Output>(0));
  });
}

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cuda(CudaCompute& compute,
                                                        const CrossEntropyProblem& problem) {
  const std::size_t losses_bytes = static_cast<std::size_t>(problem.rows) * sizeof(double);
  return make_kernel(losses_bytes, [&compute, problem](const KernelArguments& arguments) {
    const RowGrid grid(problem.rows, problem.classes);
    auto* losses = reinterpret_cast<double*>(arguments.workspace);
    launch(compute, grid.blocks, grid.threads, softmax_cross_entropy_kernel,
           CrossEntropyRows{targets_of(problem, arguments, 1), arguments.input<float>(0),
                            arguments.output<float>(1), losses,
                            compute.wrong_values().place(raise_label_error, problem.classes)});
    launch(compute, 1, kThreads, mean_loss_kernel, losses, targets_of(problem, arguments, 1),
           arguments.output<float>(0));
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cuda(CudaCompute& compute,
                                                             const CrossEntropyProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    const RowGrid grid(problem.rows, problem.classes);
    launch(compute, grid.blocks, grid.threads, softmax_cross_entropy_grad_kernel,
           targets_of(problem, arguments, 2), arguments.input<float>(0), arguments.input<float>(1),
           arguments.output<float>(0));
  });
}

std::unique_ptr<Kernel> make_linear_cross_entropy_cuda(CudaCompute& compute,
                                                       const LinearCrossEntropyProblem& problem) {
  return std::make_unique<LinearCrossEntropyCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_scale_gradients_cuda(CudaCompute& compute,
                                                  const ScaleProblem& elements) {
  return make_kernel([&compute, elements](const KernelArguments& arguments) {
    for_each_vector_of(compute, elements, [&](std::size_t i) {
      return ScaleBody{arguments.input<float>(0), arguments.input<float>(i + 1),
                       arguments.output<float>(i)};
    });
  });
}

std::unique_ptr<Kernel> make_log_softmax_cuda(CudaCompute& compute, const LogitsProblem& problem) {
  return make_row_kernel(compute, problem, log_softmax_kernel);
}

std::unique_ptr<Kernel> make_argmax_cuda(CudaCompute& compute, const LogitsProblem& problem) {
  return make_row_kernel(compute, problem, argmax_kernel);
}

}  // namespace skyline
