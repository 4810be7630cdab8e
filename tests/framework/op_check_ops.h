#pragma once

#include <cstdint>

#include "framework/context.h"

namespace skyline {

// Ops that check_op wraps around the op that it checks. Neither retains anything.

// A copy of x that is no resident tensor, so that an op may write over it.
Tensor copy(Context& context, Tensor x);

// The weight of element i (in memory order) in weighted_total: uniform in [-1, 1).
double output_weight(std::uint64_t seed, std::int64_t i);

// loss [1] = sum over i of output_weight(seed, i) * x[i].
Tensor weighted_total(Context& context, Tensor x, std::uint64_t seed);

}  // namespace skyline
