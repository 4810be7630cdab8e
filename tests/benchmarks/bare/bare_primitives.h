#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "tests/benchmarks/bare/bare_memory.h"

namespace skyline {

using BareCall = std::function<void()>;

// Whether weights stay in the primitives' preferred layouts between steps, or are stored plain and
// reordered for every use, like ours.
enum class BareWeights { kInPlace, kReordered };

// One op, the memory of the loop, and the calls so far.
class BareBuilder {
 public:
  BareBuilder(const ExecutedOp& op, BareMemory& memory, BareWeights weights)
      : op_(op), memory_(memory), weights_(weights) {}

  const ExecutedOp& op() const noexcept { return op_; }
  BareMemory& memory() noexcept { return memory_; }

  // Plain operands; `layout` describes the same bytes another way.
  dnnl::memory input(std::size_t index) { return memory_.tensor(op_.inputs.at(index)); }
  dnnl::memory output(std::size_t index) { return memory_.tensor(op_.outputs.at(index)); }
  dnnl::memory output(std::size_t index, const dnnl::memory::desc& layout) {
    return memory_.tensor(op_.outputs.at(index), layout);
  }
  // Returns a weight in `layout`; a separate call reorders it if weights are reordered.
  dnnl::memory weight(const Operand& operand, const dnnl::memory::desc& plain,
                      const dnnl::memory::desc& layout, BareMemory::Use use);
  // Returns where a weight's gradient is written; call finish_gradient() after the primitive.
  dnnl::memory gradient(const Operand& operand, const dnnl::memory::desc& layout);
  void finish_gradient(const Operand& operand, const dnnl::memory& written);

  // Adds a primitive with the library's own scratchpad.
  void call(const dnnl::primitive_desc_base& descriptor,
            std::unordered_map<int, dnnl::memory> arguments);
  void call(BareCall call) { calls_.push_back(std::move(call)); }

  std::vector<BareCall> take() { return std::move(calls_); }

 private:
  bool reorders() const noexcept { return weights_ == BareWeights::kReordered; }
  void reorder(const dnnl::memory& from, const dnnl::memory& to);

  const ExecutedOp& op_;
  BareMemory& memory_;
  BareWeights weights_;
  std::vector<BareCall> calls_;
};

// Returns the oneDNN primitives that compute what `op` did, or a plain loop if there is none (the
// optimizer). Throws std::invalid_argument with the name of an unknown op.
std::vector<BareCall> bare_calls(const ExecutedOp& op, BareMemory& memory, BareWeights weights);

// Parts of bare_calls, by family; each knows the ops with its own names.
void add_convolution(BareBuilder& builder);
void add_linear(BareBuilder& builder);
void add_batch_norm(BareBuilder& builder);
void add_response_norm(BareBuilder& builder);
void add_pooling(BareBuilder& builder);
void add_elementwise(BareBuilder& builder);
void add_concat(BareBuilder& builder);
void add_loss(BareBuilder& builder);
void add_optimizer(BareBuilder& builder);

// to = x + scale * residual, then relu, in one pass.
void add_addition(BareBuilder& builder, const dnnl::memory& x, const dnnl::memory& residual,
                  const dnnl::memory& to, float scale, bool relu);
// to = grad_output where y > 0, else 0.
void add_relu_grad(BareBuilder& builder, const dnnl::memory& grad_output, const dnnl::memory& y,
                   const dnnl::memory& to);

}  // namespace skyline
