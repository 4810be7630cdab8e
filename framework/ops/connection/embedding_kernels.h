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

// Inputs ids i32 [rows], table [words, features]; output [rows, features]. The CPU kernel throws
// WordError before writing; CUDA notes an unknown id for the next read from the device and writes
// NaN to its row.
std::unique_ptr<Kernel> make_embedding_cpu(const EmbeddingProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_embedding_cuda(CudaCompute& compute,
                                                      const EmbeddingProblem& problem);

// Inputs ids, grad_output [rows, features]; output grad_table. The CPU kernel throws WordError
// before writing; CUDA drops the gradient of an unknown id.
std::unique_ptr<Kernel> make_embedding_grad_cpu(const EmbeddingProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_embedding_grad_cuda(CudaCompute& compute,
                                                           const EmbeddingProblem& problem);

}  // namespace skyline
