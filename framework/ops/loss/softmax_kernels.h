#pragma once

#include <cstdint>
#include <memory>

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
std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const CrossEntropyProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_softmax_cross_entropy_cuda(
    CudaCompute& compute, const CrossEntropyProblem& problem);

// Inputs grad_output f32 [1], probabilities, labels; output grad_logits, which may be the
// probabilities. The CPU kernel throws LabelError before writing; on CUDA an unknown label makes
// its row's gradient NaN.
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cuda(
    CudaCompute& compute, const CrossEntropyProblem& problem);

// Input f32 [rows, columns]; output of the same shape, which may be the input.
std::unique_ptr<Kernel> make_log_softmax_cpu(std::int64_t rows, std::int64_t columns);
CUDA_ONLY std::unique_ptr<Kernel> make_log_softmax_cuda(CudaCompute& compute, std::int64_t rows,
                                                        std::int64_t columns);

// Input f32 [rows, columns]; output i32 [rows].
std::unique_ptr<Kernel> make_argmax_cpu(std::int64_t rows, std::int64_t columns);
CUDA_ONLY std::unique_ptr<Kernel> make_argmax_cuda(CudaCompute& compute, std::int64_t rows,
                                                   std::int64_t columns);

}  // namespace skyline
