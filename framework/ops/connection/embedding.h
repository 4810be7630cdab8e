#pragma once

#include <cstdint>
#include <stdexcept>

#include "framework/context.h"

namespace skyline {

// A word that the table has no row for: "[embedding] id of row 3, got 12, expected 0 to 9".
class WordError : public std::out_of_range {
 public:
  WordError(std::int64_t row, std::int32_t id, std::int64_t words);
  std::int64_t row() const noexcept { return row_; }
  std::int32_t id() const noexcept { return id_; }
  std::int64_t words() const noexcept { return words_; }

 private:
  std::int64_t row_;
  std::int32_t id_;
  std::int64_t words_;
};

// Row ids[r] of the table for each r: ids i32 [R], table f32 [V, E], result f32 [R, E]. Retains
// ids. The gradient of the table is dense: backward writes zeros to all V rows (at memory speed,
// and more than the rest of the op costs) and sums, for each id that occurs, the rows of
// grad_output in their order: the same bits on any number of threads. Backward's workspace: R + V +
// 1 integers, on CUDA 2 R. Throws ShapeError and, on the CPU, WordError before anything is written;
// a CUDA device gives NaN for such a row.
Tensor embedding(Context& context, Tensor ids, Tensor table);

}  // namespace skyline
