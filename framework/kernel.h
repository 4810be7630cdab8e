#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "framework/host_device.h"

namespace skyline {

// Addresses for one run, in the op's order of inputs and outputs. An output may equal an input's
// address if the op declares that pair as in place.
struct KernelArguments {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* workspace = nullptr;  // Kernel::workspace_bytes() bytes; null if that is 0

  template <typename T>
  const T* input(std::size_t index) const {
    return reinterpret_cast<const T*>(inputs[index]);
  }
  template <typename T>
  T* output(std::size_t index) const {
    return reinterpret_cast<T*>(outputs[index]);
  }
};

class CudaCompute;

// One op on one backend for one set of shapes. Kernels never allocate device memory: everything
// comes in as arguments. workspace_bytes() must not need a run, because a dry run asks only for
// that, so expensive preparation belongs in the first run.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual void run(const KernelArguments& arguments) = 0;
};

}  // namespace skyline
