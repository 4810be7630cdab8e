#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/compute.h"
#include "framework/kernel.h"
#include "framework/shape.h"
#include "memory/step_graph.h"

namespace skyline {

class Op;

// The specs of an op's inputs.
using Specs = std::span<const TensorSpec>;

// A tensor that a gradient op reads: input i or output i of the forward op (that tensor is then
// *retained* from forward to backward), or the gradient that reached output i.
struct GradientSource {
  enum class Kind { kInput, kOutput, kGradOutput };
  Kind kind = Kind::kGradOutput;
  int index = 0;

  static GradientSource input(int index) { return {Kind::kInput, index}; }
  static GradientSource output(int index) { return {Kind::kOutput, index}; }
  static GradientSource grad_output(int index) { return {Kind::kGradOutput, index}; }
};

// One op of the backward graph: reads `sources`; its output j is the gradient of the forward op's
// input `gradient_of[j]`.
struct GradientCall {
  std::shared_ptr<const Op> op;
  std::vector<GradientSource> sources;
  std::vector<int> gradient_of;
};

// How to recompute an output of an op, bit for bit: `op` has one output and reads `sources`.
struct Recomputation {
  std::shared_ptr<const Op> op;         // null: the same op again, whose other outputs are dropped
  std::vector<GradientSource> sources;  // inputs, and other outputs that a gradient call reads
  bool cheap = true;                    // takes one or two passes over memory
  int output = 0;                       // of the op
  double share = 1;                     // of the op's seconds that this takes

  // Runs the same op again on its `count` inputs.
  static Recomputation from_inputs(std::size_t count);
};

// One output of an op.
struct OutputSpec {
  TensorSpec spec;
  Category category = Category::kActivation;
};

// The unit of computation: an immutable value (its parameters: stride, rate, …) that *declares*
// what it needs. The framework allocates, decides on writing in place, runs and frees. Gradient
// ops are ops too. framework/README.md says how to add one.
class Op {
 public:
  virtual ~Op() = default;

  // Lower-case with underscores: "conv2d", "conv2d_grad_weight".
  virtual std::string_view name() const = 0;

  // Everything but the input specs that selects a kernel, as text: "stride=2 padding=1".
  // Kernels are cached under (name, parameters, specs, backend).
  virtual std::string parameters() const { return {}; }

  // Returns the output specs for these inputs. Throws ShapeError.
  virtual std::vector<OutputSpec> outputs(Specs inputs) const = 0;

  // Returns which output may be written over which input, in order of preference.
  virtual std::vector<InPlacePair> in_place() const { return {}; }

  // True for convolutions and their gradients: Emulation::convolution_workspace_bytes sets
  // their workspace.
  virtual bool is_convolution() const { return false; }

  // True if output 0 is input 0 under another shape: nothing is requested and nothing runs.
  virtual bool is_view() const { return false; }

  // False if kernels are cheap to make and batches of other lengths need others. Then only a device
  // that knows ops by their kernels keeps them.
  virtual bool cacheable() const { return true; }

  // Returns the numbers that change from step to step, such as a learning rate; empty if there are
  // none. For equal parameters() and specs, as many bytes in each step.
  virtual RunValue run_value() const { return {}; }

  // Returns how to recompute outputs, so that they need not be retained, at most one way for each.
  // By default the op runs again on its inputs, which is not cheap.
  virtual std::vector<Recomputation> recomputations(Specs inputs) const;

  // Never called for views.
  virtual std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const = 0;

  // Returns the gradient ops for the inputs whose gradient is `needed`; empty if the op is not
  // differentiable. Called during forward, so that a node retains only what these calls read.
  virtual std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const;
};

// "conv2d of conv1", or just the op's name if the layer is unknown.
std::string op_of_layer(std::string_view op, std::string_view layer);

}  // namespace skyline
