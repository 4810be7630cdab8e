#include "framework/ops/loss/log_softmax.h"

#include <utility>

#include "framework/apply.h"
#include "framework/ops/loss/log_softmax_kernels.h"
#include "framework/ops/support/operands.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

class LogSoftmax : public Op {
 public:
  std::string_view name() const override { return "log_softmax"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("log_softmax", inputs.size(), 1);
    require_float("log_softmax", "logits", inputs[0], 2);
    return {{inputs[0], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& shape = inputs[0].shape;
    return compute.cuda() ? make_log_softmax_cuda(*compute.cuda(), shape[0], shape[1])
                          : make_log_softmax_cpu(shape[0], shape[1]);
  }
};

}  // namespace

Tensor log_softmax(Context& context, Tensor logits) {
  return apply(context, std::make_shared<LogSoftmax>(), operands(std::move(logits))).front();
}

}  // namespace skyline
