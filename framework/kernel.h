#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

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

// How a kernel computes, where a smaller engine could compute instead. Names are those of
// EngineChoices.
struct EngineUse {
  std::string problem;
  std::string engine;
  std::string smaller;
  std::size_t smaller_workspace_bytes = 0;
};

// One op on one backend for one set of shapes. Kernels never allocate device memory: everything
// comes in as arguments. workspace_bytes() must not need a run, because a dry run asks only for
// that, so expensive preparation belongs in the first run.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  // Returns nothing if the engine was not chosen by a rule, or none needs a smaller workspace.
  virtual std::optional<EngineUse> engine_use() const { return {}; }
  virtual void run(const KernelArguments& arguments) = 0;
};

}  // namespace skyline
