#pragma once

#include <cstdint>
#include <vector>

#include "framework/context.h"

namespace skyline {

// Ops on whole rows of f32 matrices [N, H]. All copy; none retains anything; all are the same bit
// for bit on any number of threads.

// Consecutive slices of x of so many rows, which must add up to N. Backward joins the slices'
// gradients in one op, whatever their number. Throws ShapeError on a count below 1 or another sum.
std::vector<Tensor> split_rows(Context& context, Tensor x, const std::vector<std::int64_t>& counts);

// Rows first … first + count - 1 of x. The gradient is as large as x, zeros elsewhere: to cut x
// into many parts, take split_rows. Throws ShapeError when such rows do not exist.
Tensor slice_rows(Context& context, Tensor x, std::int64_t first, std::int64_t count);

// The rows of all xs, one tensor after the other. Throws ShapeError when there is none or the
// widths differ.
Tensor concat_rows(Context& context, std::vector<Tensor> xs);

// y[k] = x[rows[k]], where `rows` is a permutation of 0 … N - 1. Throws ShapeError when it is none.
// (A selection with repetitions is embedding(rows, x).)
Tensor permute_rows(Context& context, Tensor x, std::vector<std::int32_t> rows);

}  // namespace skyline
