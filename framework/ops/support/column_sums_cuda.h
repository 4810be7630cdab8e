#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline {

class CudaCompute;

// The sum of each column of a row-major matrix, always in the same order: what the gradient of a
// bias is. Where rows are many, blocks share them, and their sums lie in the workspace.
class ColumnSums {
 public:
  ColumnSums(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  // One float for each column and block that shares it, or none.
  std::size_t workspace_bytes() const;
  // sums[column] over values [rows, columns], written to `copy` as well unless that is null.
  void run(CudaCompute& compute, const float* values, float* sums, std::byte* workspace,
           float* copy = nullptr) const;

 private:
  std::int64_t rows_, columns_;
};

}  // namespace skyline
