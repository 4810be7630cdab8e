#include "framework/ops/add.h"

#include <utility>

#include "framework/autograd.h"
#include "framework/ops/elementwise.h"
#include "framework/ops/operands.h"
#include "framework/ops/reshape.h"
#include "framework/ops/sum_kernels.h"

namespace skyline {
namespace {

class Add : public ElementwiseOp {
 public:
  Add() : ElementwiseOp(2, Category::kActivation) {}
  std::string_view name() const override { return "add"; }

  std::unique_ptr<Kernel> kernel(Backend backend,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return backend == Backend::kCuda ? make_sum_cuda(elements, 2) : make_sum_cpu(elements, 2);
  }

  // Each operand's gradient is grad_output itself: aliases, no split.
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>& needed) const override {
    std::vector<GradientCall> calls;
    for (int i = 0; i < 2; ++i) {
      if (!needed[static_cast<std::size_t>(i)]) continue;
      calls.push_back({.op = std::make_shared<Reshape>(inputs[0].shape),
                       .sources = {GradientSource::grad_output(0)},
                       .gradient_of = {i}});
    }
    return calls;
  }
};

}  // namespace

Tensor add(Context& context, Tensor a, Tensor b) {
  return apply(context, std::make_shared<Add>(), operands(std::move(a), std::move(b))).front();
}

}  // namespace skyline
