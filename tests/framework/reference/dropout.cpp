#include "tests/framework/reference/dropout.h"

#include <array>

#include "framework/philox.h"

namespace skyline::reference {

bool dropout_keeps(std::uint64_t seed, std::uint64_t stream, float rate, std::int64_t position) {
  const std::int64_t block = position / 128, run = position % 128 / 32, lane = position % 32;
  const std::array<std::uint32_t, 4> words =
      Philox{seed}(stream, static_cast<std::uint64_t>(block * 32 + lane));
  return static_cast<double>(words[static_cast<std::size_t>(run)]) >= double{rate} * 0x1p32;
}

HostTensor dropout(const HostTensor& x, std::uint64_t seed, std::uint64_t stream, float rate) {
  HostTensor y(x.shape);
  std::int64_t position = 0;
  for (const std::int64_t i : memory_order(x.shape)) {
    if (dropout_keeps(seed, stream, rate, position++)) y[i] = x[i] / (1 - double{rate});
  }
  return y;
}

}  // namespace skyline::reference
