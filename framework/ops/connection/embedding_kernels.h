#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

struct EmbeddingProblem {
  std::int64_t rows = 0;   // ids
  std::int64_t words = 0;  // rows of the table
  std::int64_t features = 0;
};

// Inputs ids i32 [rows], table [words, features]; output [rows, features]. The CPU's throws
// WordError before writing; on CUDA the row of an id that the table does not have is NaN.
std::unique_ptr<Kernel> make_embedding_cpu(const EmbeddingProblem& problem);
SKYLINE_CUDA_FACTORY std::unique_ptr<Kernel> make_embedding_cuda(CudaCompute& compute,
                                                                 const EmbeddingProblem& problem);

// Inputs ids, grad_output [rows, features]; output grad_table. The CPU's throws WordError before
// writing; on CUDA the gradient of such a row goes nowhere.
std::unique_ptr<Kernel> make_embedding_grad_cpu(const EmbeddingProblem& problem);
SKYLINE_CUDA_FACTORY std::unique_ptr<Kernel> make_embedding_grad_cuda(
    CudaCompute& compute, const EmbeddingProblem& problem);

}  // namespace skyline
