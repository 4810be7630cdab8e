#pragma once

#include <cstdint>

#include "framework/kernel.h"

namespace skyline {

struct CrossEntropyProblem {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  double divisor = 1;  // divides the sum over the rows
};

// Inputs logits f32 [rows, classes], labels i32 [rows]; outputs loss f32 [1], probabilities f32
// [rows, classes], which may be the logits. The CPU kernel throws LabelError before writing;
// CUDA notes an unknown label for the next read from the device; the loss is NaN.
CpuMaker<CrossEntropyProblem> make_softmax_cross_entropy_cpu;
CUDA_ONLY CudaMaker<CrossEntropyProblem> make_softmax_cross_entropy_cuda;

// Inputs grad_output f32 [1], probabilities, labels; output grad_logits, which may be the
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
