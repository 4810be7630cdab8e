#include "train/run/random_bits.h"

#include "framework/philox.h"

namespace skyline {

RandomBits random_bits(std::uint64_t seed) {
  return [philox = Philox{seed}](std::uint64_t stream, std::uint64_t counter) {
    return philox(stream, counter);
  };
}

}  // namespace skyline
