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

// Inputs ids i32 [rows], table [words, features]; output [rows, features]. Throws WordError before
// writing.
std::unique_ptr<Kernel> make_embedding_cpu(const EmbeddingProblem& problem);
std::unique_ptr<Kernel> make_embedding_cuda(const EmbeddingProblem& problem);

// Inputs ids, grad_output [rows, features]; output grad_table. Throws WordError before writing.
std::unique_ptr<Kernel> make_embedding_grad_cpu(const EmbeddingProblem& problem);
std::unique_ptr<Kernel> make_embedding_grad_cuda(const EmbeddingProblem& problem);

}  // namespace skyline
