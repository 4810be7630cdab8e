#include "framework/ops/math/argmax.h"

#include <utility>

#include "framework/apply.h"
#include "framework/ops/math/argmax_kernels.h"
#include "framework/ops/support/operands.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

class Argmax : public Op {
 public:
  std::string_view name() const override { return "argmax"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("argmax", inputs.size(), 1);
    require_float("argmax", "x", inputs[0], 2);
    return {{{Shape{inputs[0].shape[0]}, DType::kInt32}, Category::kActivation}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& shape = inputs[0].shape;
    return compute.cuda() ? make_argmax_cuda(*compute.cuda(), shape[0], shape[1])
                          : make_argmax_cpu(shape[0], shape[1]);
  }
};

}  // namespace

Tensor argmax(Context& context, Tensor x) {
  return apply(context, std::make_shared<Argmax>(), operands(std::move(x))).front();
}

}  // namespace skyline
