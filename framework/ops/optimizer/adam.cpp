#include "framework/ops/optimizer/adam.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "framework/ops/optimizer/adam_kernels.h"
#include "framework/ops/optimizer/update_op.h"

namespace skyline {
namespace {

class Adam : public UpdateOp {
 public:
  Adam(AdamParams params, std::size_t parameters, const RankPlace& place)
      : UpdateOp({"first moment", "second moment"}, parameters, place), params_(params) {}
  std::string_view name() const override { return "adam"; }
  std::string parameters() const override {
    return fmt::format("{} beta1={} beta2={} epsilon={}", UpdateOp::parameters(), params_.beta1,
                       params_.beta2, params_.epsilon);
  }
  RunValue run_value() const override { return RunValue(rate()); }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const AdamFunction function{
        .rate = rate(), .beta1 = params_.beta1, .beta2 = params_.beta2, .epsilon = params_.epsilon};
    return compute.cuda()
               ? make_adam_cuda(*compute.cuda(), ranges(inputs), function, is_scaled(inputs))
               : make_adam_cpu(ranges(inputs), function, is_scaled(inputs));
  }

 private:
  // Corrects the bias of both moments.
  float rate() const {
    const auto step = static_cast<double>(params_.step);
    const double correction = std::sqrt(1 - std::pow(double{params_.beta2}, step)) /
                              (1 - std::pow(double{params_.beta1}, step));
    return static_cast<float>(params_.alpha * correction);
  }

  AdamParams params_;
};

}  // namespace

std::shared_ptr<const Op> adam_op(AdamParams params, std::size_t parameters,
                                  const RankPlace& place) {
  if (params.step < 1) {
    throw std::invalid_argument(
        fmt::format("[adam] step, got {}, expected at least 1", params.step));
  }
  return std::make_shared<Adam>(params, parameters, place);
}

}  // namespace skyline
