#pragma once

#include <cstddef>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/kernel.h"
#include "framework/shape.h"

namespace skyline {

// Returns oneDNN's CPU engine. Primitives run on the thread that runs the kernel and on OpenMP's
// threads.
const dnnl::engine& dnnl_engine();

// Returns oneDNN's description of a tensor: rank 4 is channels-last, all others row-major.
dnnl::memory::desc dnnl_layout(const Shape& shape,
                               dnnl::memory::data_type type = dnnl::memory::data_type::f32);
// Returns the same extents in the library's preferred layout (weights only).
dnnl::memory::desc dnnl_any_layout(const Shape& shape);
// Every primitive descriptor is made with this, so that we provide the library's scratch.
dnnl::primitive_attr dnnl_user_scratchpad();

// A short program of oneDNN primitives over one kernel's inputs, outputs and workspace, written
// once for fixed shapes:
//
//   DnnlKernel kernel;
//   const auto x = kernel.input(0, pd.src_desc());
//   const auto weight = kernel.reordered(kernel.input(1, plain), pd.weights_desc());
//   kernel.call(pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weight}, …});
//
// Workspace: the operands of scratch(), each aligned to 64 bytes, then one region as large as the
// largest scratchpad, which all primitives use in turn; if there are parts, one for each of them.
// The first run creates the primitives; memory objects are made once and pointed at each run's
// arguments. The scratch and the order of sums, and with it the last bits, depend on OpenMP's
// number of threads when the kernel is made. One thread at a time.
class DnnlKernel : public Kernel {
 public:
  // Names an operand of this kernel.
  using Operand = std::size_t;

  // Input or output `index`, from `offset_bytes` on.
  Operand input(std::size_t index, const dnnl::memory::desc& layout, std::size_t offset_bytes = 0);
  Operand output(std::size_t index, const dnnl::memory::desc& layout, std::size_t offset_bytes = 0);
  Operand scratch(const dnnl::memory::desc& layout);

  // Returns `operand` in another layout: itself if the layouts are equal, else a copy in the
  // workspace, the same one each time.
  Operand reordered(Operand operand, const dnnl::memory::desc& layout);
  // Returns where a primitive that writes `layout` shall put output `index`, stored as `plain`:
  // there, or in the workspace. Call finish_output with the result after the primitive.
  Operand output_as(std::size_t index, const dnnl::memory::desc& plain,
                    const dnnl::memory::desc& layout);
  void finish_output(Operand produced, std::size_t index, const dnnl::memory::desc& plain);

  void call(const dnnl::primitive_desc_base& descriptor,
            std::unordered_map<int, Operand> arguments);

  // The calls that follow are a new part of the kernel. Parts read results of calls before all of
  // them, and nothing of each other's: the lanes of a wide op run them at the same time.
  void begin_part() { now_ = ++parts_; }
  // The calls that follow compute what all parts compute, and run instead of them in an op that is
  // not wide.
  void begin_whole() { now_ = kWhole; }

  // Returns oneDNN's names of the chosen implementations, in order of execution
  // ("jit:avx512_core").
  std::vector<std::string> implementations() const;

  std::size_t workspace_bytes() const override;
  void run(const KernelArguments& arguments) override;

 private:
  struct OperandMemory {
    enum class Kind { kInput, kOutput, kScratch } kind;
    std::size_t index;  // of the input or output
    std::size_t offset_bytes;
    dnnl::memory memory;
  };
  struct Call {
    dnnl::primitive_desc_base descriptor;
    dnnl::primitive primitive;  // empty before the first run
    std::unordered_map<int, dnnl::memory> arguments;
    std::size_t part;  // from 1; 0: before all parts; kWhole
  };
  static constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();
  struct Copy {
    Operand from, to;
  };
  struct Scratchpad {
    dnnl::memory memory;
    std::size_t part;
  };

  Operand add(OperandMemory::Kind kind, std::size_t index, std::size_t offset_bytes,
              const dnnl::memory::desc& layout);
  void point(OperandMemory& operand, const KernelArguments& arguments) const;
  bool has_whole() const;
  void run_part(std::size_t part);

  std::vector<OperandMemory> operands_;
  std::vector<Copy> copies_;
  std::vector<Call> calls_;
  std::vector<Scratchpad> scratchpads_;
  std::size_t parts_ = 0, now_ = 0;
  std::size_t scratch_bytes_ = 0;
  std::size_t scratchpad_bytes_ = 0;       // of calls that run alone
  std::size_t part_scratchpad_bytes_ = 0;  // of a call of a part; aligned
};

}  // namespace skyline
