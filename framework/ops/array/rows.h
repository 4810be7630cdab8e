#pragma once

#include <cstdint>
#include <vector>

#include "framework/context.h"

namespace skyline {

// Ops on whole rows of f32 matrices [N, H]. All of them copy, retain nothing and give the same bits
// on any number of threads.

// Splits x into consecutive slices of `counts` rows, which must add up to N. Backward joins all
// slices' gradients in one op. Throws ShapeError on a count below 1 or another sum.
std::vector<Tensor> split_rows(Context& context, Tensor x, const std::vector<std::int64_t>& counts);

// Returns rows first … first + count - 1 of x. The gradient is as large as x, with zeros elsewhere:
// use split_rows to cut x into many parts. Throws ShapeError if x does not have these rows.
Tensor slice_rows(Context& context, Tensor x, std::int64_t first, std::int64_t count);

// Returns the rows of all xs, one tensor after the other. Throws ShapeError if there is no tensor
// or the widths differ.
Tensor concat_rows(Context& context, std::vector<Tensor> xs);

// y[k] = x[rows[k]]; `rows` is a permutation of 0 … N - 1. Throws ShapeError if it is not.
// (embedding(rows, x) selects with repetitions.)
Tensor permute_rows(Context& context, Tensor x, std::vector<std::int32_t> rows);

}  // namespace skyline
