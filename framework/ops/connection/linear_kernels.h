#pragma once

#include <memory>

#include "framework/compute.h"
#include "framework/kernel.h"
#include "framework/shape.h"

namespace skyline {

// One fully connected product with all its extents.
struct LinearProblem {
  Shape x, weight, y;  // [N, F], [O, F], [N, O]
  bool bias = false;

  Shape bias_shape() const { return {weight[0]}; }
};

// Inputs x, weight and, with bias, bias; output y. On the CPU with lanes, those of a wide op share
// the rows, and so for grad_input; without AVX-512 they share the columns where rows are few.
CpuOptionsMaker<LinearProblem> make_linear_cpu;
CUDA_ONLY CudaMaker<LinearProblem> make_linear_cuda;

// Inputs weight, grad_output; output grad_input.
CpuOptionsMaker<LinearProblem> make_linear_grad_input_cpu;
CUDA_ONLY CudaMaker<LinearProblem> make_linear_grad_input_cuda;

// Inputs x, grad_output; outputs grad_weight and, with bias, grad_bias.
CpuMaker<LinearProblem> make_linear_grad_weight_cpu;
CUDA_ONLY CudaMaker<LinearProblem> make_linear_grad_weight_cuda;

struct EmbeddingProblem {
  std::int64_t rows = 0;   // ids
  std::int64_t words = 0;  // rows of the table
  std::int64_t features = 0;
  bool adds = false;  // the gradient to one that is there
};

// Inputs ids i32 [rows], table [words, features]; output [rows, features]. The CPU kernel throws
// WordError before writing; CUDA notes an unknown id for the next read from the device and writes
// NaN to its row.
CpuMaker<EmbeddingProblem> make_embedding_cpu;
CUDA_ONLY CudaMaker<EmbeddingProblem> make_embedding_cuda;

// Inputs ids, grad_output [rows, features]; output grad_table. If it adds, the last input is what
// it adds to, and the output may be that. The CPU kernel throws WordError before writing; CUDA
// drops the gradient of an unknown id.
CpuMaker<EmbeddingProblem> make_embedding_grad_cpu;
CUDA_ONLY CudaMaker<EmbeddingProblem> make_embedding_grad_cuda;

}  // namespace skyline
