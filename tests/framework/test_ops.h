#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "framework/autograd.h"
#include "framework/ops/operands.h"

namespace skyline {

// loss = sum of all elements, [1]. Its gradient spreads grad_output; it retains nothing, so a test
// sees what the ops before it retain.
class Total : public Op {
 public:
  std::string_view name() const override { return "total"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    return {{{Shape{1}}, Category::kActivation}};
  }
  std::unique_ptr<Kernel> kernel(Backend, std::span<const TensorSpec> inputs) const override {
    struct Add : Kernel {
      explicit Add(std::int64_t n) : elements(n) {}
      void run(const KernelArguments& arguments) override {
        float total = 0;
        for (std::int64_t i = 0; i < elements; ++i) total += arguments.input<float>(0)[i];
        *arguments.output<float>(0) = total;
      }
      std::int64_t elements;
    };
    return std::make_unique<Add>(inputs[0].shape.elements());
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override;
};

// The adjoint of Total: one number to every element of `spec`.
class Spread : public Op {
 public:
  explicit Spread(TensorSpec spec) : spec_(spec) {}
  std::string_view name() const override { return "spread"; }
  std::string parameters() const override { return spec_.str(); }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    return {{spec_, Category::kGradient}};
  }
  std::unique_ptr<Kernel> kernel(Backend, std::span<const TensorSpec>) const override {
    struct Copy : Kernel {
      explicit Copy(std::int64_t n) : elements(n) {}
      void run(const KernelArguments& arguments) override {
        const float value = *arguments.input<float>(0);
        for (std::int64_t i = 0; i < elements; ++i) arguments.output<float>(0)[i] = value;
      }
      std::int64_t elements;
    };
    return std::make_unique<Copy>(spec_.shape.elements());
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
