#pragma once

#include <cstdint>

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// True if dropout keeps the element at `position` in memory. In blocks of 128 elements, 32 counters
// give one word each to four runs of 32 elements; an element is kept if its word is at least rate *
// 2^32.
bool dropout_keeps(std::uint64_t seed, std::uint64_t stream, float rate, std::int64_t position);

HostTensor dropout(const HostTensor& x, std::uint64_t seed, std::uint64_t stream, float rate);

}  // namespace skyline::reference
