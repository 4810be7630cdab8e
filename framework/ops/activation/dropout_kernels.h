#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// Which elements dropout keeps, in blocks of 4 * kDropoutLanes: element i of block b uses word i /
// kDropoutLanes of counter kDropoutLanes * b + i % kDropoutLanes. So each lane of a vector unit, or
// thread of a warp, draws four words, and all lanes touch neighbouring elements.
struct DropoutMask {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;  // added to the stream, also where that is a run value
  float rate = 0;

  // Elements with a word below this are dropped.
  std::uint32_t threshold() const {
    return static_cast<std::uint32_t>(static_cast<double>(rate) * 0x1p32);
  }
  float scale() const { return 1.0f / (1.0f - rate); }
};
inline constexpr int kDropoutLanes = 32;

// output = input * scale() if kept, else 0, in forward and backward. The run value is the stream.
std::unique_ptr<Kernel> make_dropout_cpu(std::int64_t elements, DropoutMask mask);
CUDA_ONLY std::unique_ptr<Kernel> make_dropout_cuda(CudaCompute& compute, std::int64_t elements,
                                                    DropoutMask mask);

}  // namespace skyline
