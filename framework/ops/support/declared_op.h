#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/op.h"
#include "framework/shape.h"
#include "framework/tensor.h"

namespace skyline {

// Checks that ops share. `where` is the op's name, `what` the operand's.

// Throws ShapeError unless `spec` is an f32 tensor of that rank without empty extents.
void require_float(const std::string& where, const std::string& what, const TensorSpec& spec,
                   int rank);

// Throws ShapeError unless `spec` is exactly `expected`.
void require_spec(const std::string& where, const std::string& what, const TensorSpec& spec,
                  const TensorSpec& expected);

// Throws ShapeError unless got is expected: "[conv2d] input channels, got 3, expected 16".
void require_extent(const std::string& where, const std::string& what, std::int64_t got,
                    std::int64_t expected);

// Throws ShapeError unless there are that many inputs.
void require_inputs(const std::string& where, std::size_t got, std::size_t expected);

// Moves operands into the vector that apply() and Context::execute() take: apply(context, op,
// operands(std::move(x))). A braced list would copy each tensor, and the second holder would
// prevent writing in place.
template <typename... Tensors>
std::vector<Tensor> operands(Tensors&&... tensors) {
  std::vector<Tensor> result;
  result.reserve(sizeof...(tensors));
  (result.push_back(std::forward<Tensors>(tensors)), ...);
  return result;
}

// Make the kernel of an elementwise op for `elements` elements, one factory a backend.
struct ElementwiseFactories {
  std::unique_ptr<Kernel> (*cpu)(std::int64_t elements) = nullptr;
  std::unique_ptr<Kernel> (*cuda)(CudaCompute& compute, std::int64_t elements) = nullptr;

  std::unique_ptr<Kernel> make(Compute& compute, std::int64_t elements) const {
    return compute.cuda() ? cuda(*compute.cuda(), elements) : cpu(elements);
  }
};

// Base of ops whose operands and only output have one f32 spec of any shape. Output element i
// depends only on the operands' elements i, so the output may be written over any operand.
class ElementwiseOp : public Op {
 public:
  // Throws ShapeError on a wrong number of operands, a wrong dtype, or specs that differ.
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override;
  // Over every operand, the first preferred.
  std::vector<InPlacePair> in_place() const override;

 protected:
  ElementwiseOp(int operands, Category category) : operands_(operands), category_(category) {}

 private:
  int operands_;
  Category category_;
};

// A gradient op whose operands' and outputs' specs follow from one problem: `cpu` and `cuda` make
// its kernels from that.
template <typename Problem>
class GradientOp final : public Op {
 public:
  struct Declaration {
    std::string name;
    std::string parameters = {};
    std::vector<std::pair<std::string, TensorSpec>> operands;  // with their names
    std::vector<TensorSpec> outputs;
    std::unique_ptr<Kernel> (*cpu)(const Problem& problem) = nullptr;
    // In place of `cpu`, for kernels that depend on options.
    std::unique_ptr<Kernel> (*cpu_by_options)(const CpuOptions& options,
                                              const Problem& problem) = nullptr;
    std::unique_ptr<Kernel> (*cuda)(CudaCompute& compute, const Problem& problem);
    std::vector<InPlacePair> in_place = {};
    bool is_convolution = false;
  };

  GradientOp(const Problem& problem, Declaration declaration)
      : problem_(problem), declared_(std::move(declaration)) {}
  std::string_view name() const override { return declared_.name; }
  std::string parameters() const override { return declared_.parameters; }
  std::vector<InPlacePair> in_place() const override { return declared_.in_place; }
  bool is_convolution() const override { return declared_.is_convolution; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs(declared_.name, inputs.size(), declared_.operands.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& [what, spec] = declared_.operands[i];
      require_spec(declared_.name, what, inputs[i], spec);
    }
    std::vector<OutputSpec> outputs;
    for (const TensorSpec& spec : declared_.outputs) outputs.push_back({spec, Category::kGradient});
    return outputs;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, std::span<const TensorSpec>) const override {
    if (compute.cuda()) return declared_.cuda(*compute.cuda(), problem_);
    if (declared_.cpu_by_options) return declared_.cpu_by_options(compute.cpu(), problem_);
    return declared_.cpu(problem_);
  }

 private:
  Problem problem_;
  Declaration declared_;
};

template <typename Problem>
std::shared_ptr<const Op> gradient_op(const Problem& problem,
                                      typename GradientOp<Problem>::Declaration declaration) {
  return std::make_shared<GradientOp<Problem>>(problem, std::move(declaration));
}

}  // namespace skyline
