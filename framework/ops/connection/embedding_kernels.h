#pragma once

#include <cstdint>

#include "framework/kernel.h"

namespace skyline {

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
