#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline {

class CudaCompute;

// The sum of each column of a row-major matrix, always added in the same order: the gradient of a
// bias. If rows are many, blocks share them and keep their sums in the workspace.
class ColumnSums {
 public:
  ColumnSums(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  // One float for each column and block that shares it; 0 if one block takes all rows.
  std::size_t workspace_bytes() const;
  // Writes sums[column] over values [rows, columns], also to `copy` unless that is null.
  void run(CudaCompute& compute, const float* values, float* sums, std::byte* workspace,
           float* copy = nullptr) const;

 private:
  std::int64_t rows_, columns_;
};

}  // namespace skyline
