#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "framework/ranks/rank_place.h"

namespace skyline {

// Enqueues values = ((v0 + v1) + v2) + …, where v of this rank are `values`, and those of the
// others lie in the order of ranks, each `stride` floats after the one before; `received` is the
// first of them.
void add_in_order(cudaStream_t stream, std::span<float> values, const float* received,
                  std::size_t stride, RankPlace place);

}  // namespace skyline
