#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/host_device.h"
#include "memory/alignment.h"
#include "memory/step_graph.h"

namespace skyline {

// Numbers that an op brings to each run, in place of those that its kernel was made with: a
// learning rate, a number of a random stream, the rows of a permutation. So steps that differ in
// nothing else share their kernels, and their launches can be captured.
class RunValue {
 public:
  RunValue() = default;
  template <typename T>
  explicit RunValue(T value) : RunValue(std::span<const T>(&value, 1)) {}
  template <typename T>
  explicit RunValue(const std::vector<T>& values) : RunValue(std::span<const T>(values)) {}

  bool has_value() const noexcept { return !bytes_.empty(); }
  // Returns the value, which is a T, or `own` if there is none.
  template <typename T>
  T value_or(T own) const noexcept {
    return has_value() ? values<T>().front() : own;
  }
  template <typename T>
  std::span<const T> values() const noexcept {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

 private:
  template <typename T>
  explicit RunValue(std::span<const T> values)
      : bytes_(std::as_bytes(values).begin(), std::as_bytes(values).end()) {
    static_assert(std::is_trivially_copyable_v<T>);
  }

  std::vector<std::byte> bytes_;
};

// Addresses for one run, in the op's order of inputs and outputs. An output may equal an input's
// address if the op declares that pair as in place.
struct KernelArguments {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* workspace = nullptr;  // Kernel::workspace_bytes() bytes; null if that is 0
  RunValue run_value = {};         // in place of what the kernel was made with
  // Device memory that holds the run value while the kernel runs; null: it is `run_value`.
  const std::byte* run_value_at = nullptr;

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

// How a kernel computes, where a smaller engine could compute instead, or a larger workspace could
// serve. Names are those of EngineChoices.
struct EngineUse {
  std::string problem;
  std::string engine;
  std::string smaller;
  std::size_t smaller_workspace_bytes = 0;
  bool wants_room = false;  // asks for a workspace once the room in a step's peak is known
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
  // Returns where the workspace goes in an op of several calls in rounds; null for others.
  virtual std::shared_ptr<const OpRounds> rounds() const { return nullptr; }
  // Returns the input that output 0 may be written over if the op declares no such pair: this
  // kernel has read each byte of it before it writes there.
  virtual std::optional<int> overwritten_input() const { return {}; }
  virtual void run(const KernelArguments& arguments) = 0;
};

// A kernel that is a function of its arguments.
template <typename Function>
class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(std::size_t workspace_bytes, Function function)
      : workspace_bytes_(workspace_bytes), function_(std::move(function)) {}
  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  void run(const KernelArguments& arguments) override { function_(arguments); }

 private:
  std::size_t workspace_bytes_;
  Function function_;
};

// Makes one: make_kernel([problem](const KernelArguments& arguments) { … }). `function` captures by
// value what it needs, because it outlives its maker.
template <typename Function>
std::unique_ptr<Kernel> make_kernel(std::size_t workspace_bytes, Function function) {
  return std::make_unique<FunctionKernel<Function>>(workspace_bytes, std::move(function));
}
template <typename Function>
std::unique_ptr<Kernel> make_kernel(Function function) {
  return make_kernel(0, std::move(function));
}

// The types of functions that make kernels for a problem. On the CPU, only kernels that depend on
// its options take them.
struct CpuOptions;
template <typename Problem>
using CpuMaker = std::unique_ptr<Kernel>(const Problem& problem);
template <typename Problem>
using CpuOptionsMaker = std::unique_ptr<Kernel>(const CpuOptions& options, const Problem& problem);
template <typename Problem>
using CudaMaker = std::unique_ptr<Kernel>(CudaCompute& compute, const Problem& problem);

// Divides a workspace into parts, each aligned to 64 bytes, where vector loads are widest.
class WorkspaceLayout {
 public:
  // Returns the offset of a new part.
  std::size_t add(std::size_t bytes) {
    constexpr std::size_t kVectorBytes = 64;
    const std::size_t offset = bytes_;
    bytes_ += align_up(bytes, kVectorBytes);
    return offset;
  }
  std::size_t add_floats(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(float));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace skyline
