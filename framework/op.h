#pragma once

#include <memory>
#include <optional>
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

// What a gradient op reads: input i or output i of the forward op (then that tensor is *retained*
// from forward to backward), or the gradient that reached output i.
struct GradientSource {
  enum class Kind { kInput, kOutput, kGradOutput };
  Kind kind = Kind::kGradOutput;
  int index = 0;

  static GradientSource input(int index) { return {Kind::kInput, index}; }
  static GradientSource output(int index) { return {Kind::kOutput, index}; }
  static GradientSource grad_output(int index) { return {Kind::kGradOutput, index}; }
};

// One op of the backward graph: reads `sources`, its output j is the gradient of the forward op's
// input `gradient_of[j]`.
struct GradientCall {
  std::shared_ptr<const Op> op;
  std::vector<GradientSource> sources;
  std::vector<int> gradient_of;
};

// An op whose only output has the bits of output 0 of another op, from what that one read and
// wrote.
struct Remake {
  std::shared_ptr<const Op> op;         // null: the same op again
  std::vector<GradientSource> sources;  // inputs, and outputs but 0 that a gradient call reads

  // The same op again, which reads `count` inputs.
  static Remake from_inputs(std::size_t count) {
    Remake again;
    for (std::size_t i = 0; i < count; ++i) {
      again.sources.push_back(GradientSource::input(static_cast<int>(i)));
    }
    return again;
  }
};

// One output of an op.
struct OutputSpec {
  TensorSpec spec;
  Category category = Category::kActivation;
};

// The unit of computation: an immutable value (its parameters: stride, rate, …) that *declares*
// what it needs; the framework allocates, decides on writing in place, runs and releases.
// Gradient ops are ops too. To add one: declare it here, write its kernel per backend, test it.
class Op {
 public:
  virtual ~Op() = default;

  // Lower-case with underscores: "conv2d", "conv2d_grad_weight".
  virtual std::string_view name() const = 0;

  // Everything but the input specs that selects a kernel, as text: "stride=2 padding=1".
  // Kernels are cached under (name, parameters, specs, backend).
  virtual std::string parameters() const { return {}; }

  // Output specs for these inputs. Throws ShapeError.
  virtual std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const = 0;

  // Which output may be written over which input, in order of preference.
  virtual std::vector<InPlacePair> in_place() const { return {}; }

  // True for convolutions and their gradients, whose workspace
  // Context::Options::convolution_workspace_bytes sets.
  virtual bool is_convolution() const { return false; }

  // True when output 0 is input 0 under another shape: nothing is requested, nothing runs.
  virtual bool is_view() const { return false; }

  // False when the kernel depends on more than parameters() and the specs (a random offset).
  virtual bool cacheable() const { return true; }

  // How to make output 0 again in a pass or two over memory, so that it need not be retained; none
  // where that costs more.
  virtual std::optional<Remake> remake(std::span<const TensorSpec>) const { return {}; }

  // Never called for views.
  virtual std::unique_ptr<Kernel> kernel(Compute& compute,
                                         std::span<const TensorSpec> inputs) const = 0;

  // The gradient ops for those inputs whose gradient is `needed`; asked for while going forward, so
  // that a node retains only what these calls read.
  // Empty: not differentiable.
  virtual std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                             const std::vector<bool>& needed) const;
};

}  // namespace skyline
