#pragma once

#include <cstdint>

#include "framework/context.h"

namespace skyline {

// Ops that check_op puts around the checked op. Neither retains anything.

// Returns a copy of x that is not resident, so that an op may write over it.
Tensor copy(Context& context, Tensor x);

// Returns the weight of element i (in memory order) in weighted_total: uniform in [-1, 1).
double output_weight(std::uint64_t seed, std::int64_t i);

// loss [1] = sum over i of output_weight(seed, i) * x[i].
Tensor weighted_total(Context& context, Tensor x, std::uint64_t seed);

}  // namespace skyline
