#include "framework/ops/optimizer/sgd_momentum.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>

#include "framework/ops/optimizer/sgd_momentum_kernels.h"
#include "framework/ops/optimizer/update_op.h"
#include "framework/ops/support/operands.h"

namespace skyline {
namespace {

class SgdMomentum : public UpdateOp {
 public:
  SgdMomentum(SgdParams params, std::size_t parameters, const RankPlace& place)
      : UpdateOp({"velocity"}, parameters, place), params_(params) {}
  std::string_view name() const override { return "sgd_momentum"; }
  std::string parameters() const override {
    return fmt::format("{} momentum={} weight_decay={}", UpdateOp::parameters(), params_.momentum,
                       params_.weight_decay);
  }
  RunValue run_value() const override { return RunValue(params_.learning_rate); }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    return compute.cuda()
               ? make_sgd_momentum_cuda(*compute.cuda(), ranges(inputs), params_, is_scaled(inputs))
               : make_sgd_momentum_cpu(ranges(inputs), params_, is_scaled(inputs));
  }

 private:
  SgdParams params_;
};

}  // namespace

std::shared_ptr<const Op> sgd_momentum_op(SgdParams params, std::size_t parameters,
                                          const RankPlace& place) {
  return std::make_shared<SgdMomentum>(params, parameters, place);
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
  context.execute(SgdMomentum(params, 1, {}), std::move(inputs), destinations, Phase::kUpdate,
                  layer);
}

}  // namespace skyline
