#pragma once

#include <cstdint>
#include <vector>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/loss/softmax.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline {

struct CrossEntropyProblem {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  double divisor = 1;     // divides the sum over the rows; 0: the sum of their labels' weights
  float smoothing = 0;    // spread over all classes
  bool weighted = false;  // the last input is a weight for each class, f32 [classes]
};

// Returns the problem of inputs logits, labels and, if given, weights. Throws ShapeError and
// std::invalid_argument.
CrossEntropyProblem cross_entropy_problem(const SoftmaxCrossEntropyParams& params, Specs inputs);

// A row's target: `of_each` times its weight for each class, and `of_label` more for the label;
// `total` is the sum of it all.
struct CrossEntropyTarget {
  float of_label = 1, of_each = 0, total = 1;
};

// `label_weight` is the label's weight, `mean_weight` that of all classes. Without smoothing and
// weights all values are exact.
SKYLINE_HOST_DEVICE inline CrossEntropyTarget target_of(const CrossEntropyProblem& problem,
                                                        float label_weight, float mean_weight) {
  const float of_label = (1.0f - problem.smoothing) * label_weight;
  return {of_label, problem.smoothing / static_cast<float>(problem.classes),
          of_label + problem.smoothing * mean_weight};
}

// Inputs logits f32 [rows, classes], labels i32 [rows], weights; outputs loss f32 [1],
// probabilities f32 [rows, classes], which may be the logits. The CPU kernel throws LabelError
// before writing; CUDA notes an unknown label for the next read from the device; the loss is NaN.
CpuMaker<CrossEntropyProblem> make_softmax_cross_entropy_cpu;
CUDA_ONLY CudaMaker<CrossEntropyProblem> make_softmax_cross_entropy_cuda;

// Inputs grad_output f32 [1], probabilities, labels, weights; output grad_logits, which may be the
// probabilities. The CPU kernel throws LabelError before writing; on CUDA an unknown label makes
// its row's gradient NaN.
CpuMaker<CrossEntropyProblem> make_softmax_cross_entropy_grad_cpu;
CUDA_ONLY CudaMaker<CrossEntropyProblem> make_softmax_cross_entropy_grad_cuda;

// A fully connected layer and its loss, in panels of rows.
struct LinearCrossEntropyProblem {
  LinearProblem linear;
  CrossEntropyProblem loss;
  bool grad_x = false, grad_weight = false, grad_bias = false;  // the outputs besides the loss

  // Rows of a panel. They decide how sums are cut, so every bit of a result depends on them.
  //
  // Measured for seq2seq's 256 features and 40,002 classes in ms of 768 rows (two cores of an EPYC
  // without AVX-512, twice): panels of 64 rows 683 and 581, 128 521 and 572, 192 532 and 480, 256
  // 473 and 616. Fewer rows read and write grad_weight too often; more hold more logits.
  static constexpr std::int64_t kPanelRows = 128;

  std::size_t labels() const { return linear.bias ? 3 : 2; }  // their place among the inputs
  bool makes_gradients() const { return grad_x || grad_weight || grad_bias; }
  std::vector<RowRange> panels() const;
};

// Inputs x, weight, bias if any, labels, weights of classes if any; outputs loss f32 [1] and the
// gradients of the loss: grad_x, which may be x, grad_weight, grad_bias. Labels as in
// make_softmax_cross_entropy_cpu.
CpuMaker<LinearCrossEntropyProblem> make_linear_cross_entropy_cpu;
CUDA_ONLY CudaMaker<LinearCrossEntropyProblem> make_linear_cross_entropy_cuda;

// Input 0 is a factor f32 [1], output i is input i + 1 times that and may be that input; then a
// factor of 1 moves nothing. The problem: the elements of each output.
using ScaleProblem = std::vector<std::int64_t>;
CpuMaker<ScaleProblem> make_scale_gradients_cpu;
CUDA_ONLY CudaMaker<ScaleProblem> make_scale_gradients_cuda;

struct LogitsProblem {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Input f32 [rows, columns]; output of the same shape, which may be the input.
CpuMaker<LogitsProblem> make_log_softmax_cpu;
CUDA_ONLY CudaMaker<LogitsProblem> make_log_softmax_cuda;

// Input f32 [rows, columns]; output i32 [rows].
CpuMaker<LogitsProblem> make_argmax_cpu;
CUDA_ONLY CudaMaker<LogitsProblem> make_argmax_cuda;

}  // namespace skyline
