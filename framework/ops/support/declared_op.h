#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/op.h"
#include "framework/tensor.h"

// How ops are declared: what they check, and as tables what they are.

namespace skyline {

// In these checks `where` is the op's name, `what` the operand's.

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

// Returns the outputs of a forward op.
inline std::vector<OutputSpec> activations(std::initializer_list<TensorSpec> specs) {
  std::vector<OutputSpec> outputs;
  for (const TensorSpec& spec : specs) outputs.push_back({spec, Category::kActivation});
  return outputs;
}

// The makers of an op's kernels, one a backend.
template <typename Problem>
class KernelMakers {
 public:
  constexpr KernelMakers(CpuMaker<Problem>* cpu, CudaMaker<Problem>* cuda)
      : cpu_(cpu), cuda_(cuda) {}
  constexpr KernelMakers(CpuOptionsMaker<Problem>* cpu, CudaMaker<Problem>* cuda)
      : cpu_by_options_(cpu), cuda_(cuda) {}

  std::unique_ptr<Kernel> make(Compute& compute, const Problem& problem) const {
    if (compute.cuda()) return cuda_(*compute.cuda(), problem);
    return cpu_ != nullptr ? cpu_(problem) : cpu_by_options_(compute.cpu(), problem);
  }

 private:
  CpuMaker<Problem>* cpu_ = nullptr;
  CpuOptionsMaker<Problem>* cpu_by_options_ = nullptr;
  CudaMaker<Problem>* cuda_;
};

// The parameters of an op that has none.
struct NoParams {};

// A forward op as a table: its problem follows from its parameters and its operands' specs, and all
// else from the problem. Functions that are null do what Op does.
template <typename Problem, typename Params = NoParams>
struct Declaration {
  std::string_view name;
  std::string (*parameters)(const Params& params) = nullptr;
  Problem (*problem)(const Params& params,
                     Specs inputs);  // throws ShapeError
  std::vector<OutputSpec> (*outputs)(const Problem& problem);
  KernelMakers<Problem> kernels;
  std::vector<GradientCall> (*gradient)(const Problem& problem,
                                        const std::vector<bool>& needed) = nullptr;
  std::vector<Recomputation> (*recomputations)(const Problem& problem) = nullptr;
  std::vector<InPlacePair> in_place = {};
  bool is_convolution = false;
  bool cacheable = true;
};

// The op of a declaration, which must live as long as the program.
template <typename Problem, typename Params>
class DeclaredOp final : public Op {
 public:
  DeclaredOp(const Declaration<Problem, Params>& declared, Params params)
      : declared_(declared), params_(std::move(params)) {}

  std::string_view name() const override { return declared_.name; }
  std::string parameters() const override {
    return declared_.parameters == nullptr ? "" : declared_.parameters(params_);
  }
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    return declared_.outputs(declared_.problem(params_, inputs));
  }
  std::vector<InPlacePair> in_place() const override { return declared_.in_place; }
  bool is_convolution() const override { return declared_.is_convolution; }
  bool cacheable() const override { return declared_.cacheable; }
  std::vector<Recomputation> recomputations(Specs inputs) const override {
    return declared_.recomputations == nullptr
               ? Op::recomputations(inputs)
               : declared_.recomputations(declared_.problem(params_, inputs));
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return declared_.kernels.make(compute, declared_.problem(params_, inputs));
  }
  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const override {
    if (declared_.gradient == nullptr) return {};
    return declared_.gradient(declared_.problem(params_, inputs), needed);
  }

 private:
  const Declaration<Problem, Params>& declared_;
  Params params_;
};

template <typename Problem, typename Params>
std::shared_ptr<const Op> declared_op(const Declaration<Problem, Params>& declared,
                                      std::type_identity_t<Params> params = {}) {
  return std::make_shared<DeclaredOp<Problem, Params>>(declared, std::move(params));
}

// A gradient op. Its problem is known before its operands: their specs and those of its outputs
// follow from that.
template <typename Problem>
class GradientOp : public Op {
 public:
  struct Declaration {
    std::string name;
    std::string parameters = {};
    std::vector<std::pair<std::string, TensorSpec>> operands;  // with their names
    std::vector<TensorSpec> outputs;
    KernelMakers<Problem> kernels;
    std::vector<InPlacePair> in_place = {};
    RunValue run_value = {};
    bool is_convolution = false;
    bool cacheable = true;
  };

  GradientOp(const Problem& problem, Declaration declaration)
      : problem_(problem), declared_(std::move(declaration)) {}
  std::string_view name() const override { return declared_.name; }
  std::string parameters() const override { return declared_.parameters; }
  std::vector<InPlacePair> in_place() const override { return declared_.in_place; }
  RunValue run_value() const override { return declared_.run_value; }
  bool is_convolution() const override { return declared_.is_convolution; }
  bool cacheable() const override { return declared_.cacheable; }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
    require_inputs(declared_.name, inputs.size(), declared_.operands.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& [what, spec] = declared_.operands[i];
      require_spec(declared_.name, what, inputs[i], spec);
    }
    std::vector<OutputSpec> outputs;
    for (const TensorSpec& spec : declared_.outputs) outputs.push_back({spec, Category::kGradient});
    return outputs;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs) const override {
    return declared_.kernels.make(compute, problem_);
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

// Base of ops whose operands and only output have one f32 spec of any shape. Output element i
// depends only on the operands' elements i, so the output may be written over any operand.
class ElementwiseOp : public Op {
 public:
  // Throws ShapeError on a wrong number of operands, a wrong dtype, or specs that differ.
  std::vector<OutputSpec> outputs(Specs inputs) const override;
  // Over every operand, the first preferred.
  std::vector<InPlacePair> in_place() const override;

 protected:
  ElementwiseOp(int operands, Category category) : operands_(operands), category_(category) {}

 private:
  int operands_;
  Category category_;
};

}  // namespace skyline
