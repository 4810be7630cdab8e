#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/kernel.h"
#include "framework/shape.h"
#include "memory/step_graph.h"

namespace skyline {

class CudaCompute;

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Uniform in [low, high); the same for the same stream.
std::vector<float> random_floats(std::int64_t count, std::uint64_t stream, float low = -1,
                                 float high = 1);
// Uniform in [0, below).
std::vector<std::int32_t> random_integers(std::int64_t count, std::uint64_t stream, int below);
// Bytes of random_floats.
Bytes random_operand(std::int64_t count, std::uint64_t stream, float low = -1, float high = 1);

// One op's kernels of both backends for one problem, and operands.
struct KernelPair {
  std::function<std::unique_ptr<Kernel>()> cpu;
  std::function<std::unique_ptr<Kernel>(CudaCompute&)> cuda;
  std::vector<Bytes> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<InPlacePair> in_place = {};
  double tolerance = 0;  // relative to an output's largest magnitude; 0: the same bits
  RunValue run_value = {};
};

// Asserts that both kernels give the same outputs; that the CUDA kernel, run by the emulation,
// gives the same bits in any order of threads, when it writes in place (each pair alone, and as
// many pairs as go together), and when its run value lies in device memory; and that it does not
// change inputs that are no outputs. Reading unwritten memory gives NaN, and the address sanitizer
// finds accesses beside operands and workspace.
void expect_same(const std::string& what, const KernelPair& pair);

// Returns the CUDA kernel's outputs.
std::vector<Bytes> run_on_emulation(const KernelPair& pair);

}  // namespace skyline
