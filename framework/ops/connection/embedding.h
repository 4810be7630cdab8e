#pragma once

#include <cstdint>
#include <stdexcept>

#include "framework/context.h"

namespace skyline {

// A word that has no row in the table: "[embedding] id of row 3, got 12, expected 0 to 9".
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

// Returns row ids[r] of the table for each r: ids i32 [R], table f32 [V, E], result f32 [R, E].
// Retains ids. The table's gradient is dense: backward writes zeros to all V rows (at memory speed;
// this costs more than the rest) and sums, for each id that occurs, the rows of grad_output in
// order, so the bits are the same on any number of threads. Backward's workspace: R + V + 1
// integers; on CUDA about 17 R bytes + 16 KiB (thrust_sort_bytes()). Throws ShapeError and, on the
// CPU, WordError before anything is written; a CUDA device writes NaN to such a row, and the host
// throws WordError when it next reads.
//
// Backward sums each id's rows. If another op has computed a part of the table's gradient, it adds
// them to that part in place, instead of making a second table, see GradientAdder:
// linear_cross_entropy() has if the table is also its weight, as in GPT-2.
Tensor embedding(Context& context, Tensor ids, Tensor table);

}  // namespace skyline
