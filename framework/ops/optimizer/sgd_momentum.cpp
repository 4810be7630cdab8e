#include "framework/ops/optimizer/sgd_momentum.h"

#include <fmt/format.h>

#include <string>

#include "framework/ops/optimizer/sgd_momentum_kernels.h"
#include "framework/ops/optimizer/update_op.h"

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

}  // namespace skyline
