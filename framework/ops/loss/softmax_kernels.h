#pragma once

#include <cstdint>

#include "framework/host_device.h"
#include "framework/kernel.h"

namespace skyline {

struct CrossEntropyProblem {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  double divisor = 1;     // divides the sum over the rows; 0: the sum of their labels' weights
  float smoothing = 0;    // spread over all classes
  bool weighted = false;  // the last input is a weight for each class, f32 [classes]
};

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
