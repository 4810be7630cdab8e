#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "framework/apply.h"
#include "framework/ops/support/declared_op.h"
#include "tests/framework/host_kernel.h"

namespace skyline {

// loss = sum of all elements, [1]. Its gradient spreads grad_output. It retains nothing, so a test
// sees what the ops before it retain.
class Total : public Op {
 public:
  std::string_view name() const override { return "total"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    return {{{Shape{1}}, Category::kActivation}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return std::make_unique<HostKernel>(compute, elements, 1,
                                        [elements](const float* x, float* loss) {
                                          *loss = std::accumulate(x, x + elements, 0.0f);
                                        });
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override;
};

// The adjoint of Total: writes one number to every element of `spec`.
class Spread : public Op {
 public:
  explicit Spread(TensorSpec spec) : spec_(spec) {}
  std::string_view name() const override { return "spread"; }
  std::string parameters() const override { return spec_.str(); }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    return {{spec_, Category::kGradient}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, std::span<const TensorSpec>) const override {
    const std::int64_t elements = spec_.shape.elements();
    return std::make_unique<HostKernel>(
        compute, 1, elements,
        [elements](const float* value, float* y) { std::fill_n(y, elements, *value); });
  }

 private:
  TensorSpec spec_;
};

inline std::vector<GradientCall> Total::gradient(std::span<const TensorSpec> inputs,
                                                 const std::vector<bool>&) const {
  return {{std::make_shared<Spread>(inputs[0]), {GradientSource::grad_output(0)}, {0}}};
}

inline Tensor total(Context& context, Tensor x) {
  return std::move(apply(context, std::make_shared<Total>(), operands(std::move(x)))[0]);
}

}  // namespace skyline
