#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/op.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {

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
