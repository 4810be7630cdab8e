#include "framework/ops/optimizer/sgd_momentum.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>

#include "framework/ops/optimizer/sgd_momentum_kernels.h"
#include "framework/ops/support/operands.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

class SgdMomentum : public Op {
 public:
  explicit SgdMomentum(SgdParams params) : params_(params) {}
  std::string_view name() const override { return "sgd_momentum"; }
  std::string parameters() const override {
    return fmt::format("learning_rate={} momentum={} weight_decay={}", params_.learning_rate,
                       params_.momentum, params_.weight_decay);
  }
  // A schedule may change the learning rate in any step.
  bool cacheable() const override { return false; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("sgd_momentum", inputs.size(), inputs.size() == 4 ? 4 : 3);
    const TensorSpec expected{inputs[0].shape, DType::kFloat32};
    require_spec("sgd_momentum", "value", inputs[0], expected);
    require_spec("sgd_momentum", "gradient", inputs[1], expected);
    require_spec("sgd_momentum", "velocity", inputs[2], expected);
    if (inputs.size() == 4) require_spec("sgd_momentum", "gradient_scale", inputs[3], {Shape{1}});
    return {{expected, Category::kParameter}, {expected, Category::kOptimizer}};
  }

  std::vector<InPlacePair> in_place() const override {
    return {{.input = 0, .output = 0}, {.input = 2, .output = 1}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    const bool scaled = inputs.size() == 4;
    return compute.cuda() ? make_sgd_momentum_cuda(*compute.cuda(), elements, params_, scaled)
                          : make_sgd_momentum_cpu(elements, params_, scaled);
  }

 private:
  SgdParams params_;
};

}  // namespace

std::shared_ptr<const Op> sgd_momentum_op(SgdParams params) {
  return std::make_shared<SgdMomentum>(params);
}

void sgd_momentum(Context& context, const Parameter& parameter, const Tensor& velocity,
                  SgdParams params, const Tensor& gradient_scale) {
  if (!parameter.gradient) {
    throw std::invalid_argument("[sgd_momentum] gradient of " + parameter.name +
                                ", got none, expected one: parameters made in inference mode "
                                "cannot be trained");
  }
  const std::array destinations = {parameter.value.detach(), velocity};
  const std::string layer = parameter.name.substr(0, parameter.name.rfind('.'));
  std::vector<Tensor> inputs = operands(parameter.value.detach(), parameter.gradient, velocity);
  if (gradient_scale) inputs.push_back(gradient_scale);
  context.execute(SgdMomentum(params), std::move(inputs), destinations, Phase::kUpdate, layer);
}

}  // namespace skyline
