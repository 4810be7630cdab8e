#include "framework/ops/optimizer/updates.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "framework/ops/optimizer/updates_kernels.h"
#include "framework/ops/support/declared_op.h"
#include "framework/ranks/rank_group.h"

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

class SumOfSquares : public Op {
 public:
  std::string_view name() const override { return "sum_of_squares"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("sum_of_squares", inputs.size(), 1);
    require_spec("sum_of_squares", "gradient", inputs[0], {inputs[0].shape, DType::kFloat32});
    return {{{Shape{1}}, Category::kOptimizer}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return compute.cuda() ? make_sum_of_squares_cuda(*compute.cuda(), elements)
                          : make_sum_of_squares_cpu(elements);
  }
};

class ClipFactor : public Op {
 public:
  explicit ClipFactor(float max_norm) : max_norm_(max_norm) {}
  std::string_view name() const override { return "clip_factor"; }
  std::string parameters() const override { return fmt::format("max_norm={}", max_norm_); }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    if (inputs.empty()) throw ShapeError("clip_factor", "number of sums", "0", "at least 1");
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      require_spec("clip_factor", fmt::format("sum {}", k), inputs[k], {Shape{1}});
    }
    return {{{Shape{1}}, Category::kOptimizer}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    return compute.cuda() ? make_clip_factor_cuda(*compute.cuda(), inputs.size(), max_norm_)
                          : make_clip_factor_cpu(inputs.size(), max_norm_);
  }

 private:
  float max_norm_;
};

}  // namespace

UpdateOp::UpdateOp(std::vector<std::string> state, std::size_t parameters, const RankPlace& place)
    : state_(std::move(state)), parameters_(parameters), place_(place) {
  if (parameters == 0) throw std::invalid_argument("[update] got no parameter, expected some");
}

std::string UpdateOp::parameters() const {
  return fmt::format("parameters={} rank={}/{}", parameters_, place_.rank, place_.ranks);
}

std::vector<OutputSpec> UpdateOp::outputs(std::span<const TensorSpec> inputs) const {
  const std::string where(name());
  const std::size_t unscaled = parameters_ * inputs_of_each();
  require_inputs(where, inputs.size(), unscaled + (inputs.size() > unscaled ? 1 : 0));
  std::vector<OutputSpec> outputs;
  for (std::size_t first = 0; first < unscaled; first += inputs_of_each()) {
    const TensorSpec expected{inputs[first].shape, DType::kFloat32};
    require_spec(where, "value", inputs[first], expected);
    require_spec(where, "gradient", inputs[first + 1], expected);
    outputs.push_back({expected, Category::kParameter});
    const TensorSpec state = state_spec(expected, place_);
    for (std::size_t part = 0; part < state_.size(); ++part) {
      require_spec(where, state_[part], inputs[first + 2 + part], state);
      outputs.push_back({state, Category::kOptimizer});
    }
  }
  if (is_scaled(inputs)) require_spec(where, "gradient_scale", inputs.back(), {Shape{1}});
  return outputs;
}

std::vector<InPlacePair> UpdateOp::in_place() const {
  std::vector<InPlacePair> pairs;
  for (std::size_t p = 0; p < parameters_; ++p) {
    const std::size_t input = p * inputs_of_each(), output = p * outputs_of_each();
    pairs.push_back({.input = static_cast<int>(input), .output = static_cast<int>(output)});
    for (std::size_t part = 1; part <= state_.size(); ++part) {
      pairs.push_back(
          {.input = static_cast<int>(input + 1 + part), .output = static_cast<int>(output + part)});
    }
  }
  return pairs;
}

TensorSpec state_spec(const TensorSpec& value, const RankPlace& place) {
  if (place.ranks == 1) return value;
  const auto size = static_cast<std::size_t>(value.shape.elements());
  return {.shape = {static_cast<std::int64_t>(largest_share_of_tensor(size, place.ranks))}};
}

std::vector<UpdateRange> UpdateOp::ranges(std::span<const TensorSpec> inputs) const {
  std::vector<UpdateRange> ranges;
  for (std::size_t p = 0; p < parameters_; ++p) {
    const std::int64_t size = inputs[p * inputs_of_each()].shape.elements();
    const RankShare share = share_of_tensor(static_cast<std::size_t>(size), place_);
    ranges.push_back({.first = static_cast<std::int64_t>(share.begin),
                      .count = static_cast<std::int64_t>(share.size())});
  }
  return ranges;
}

bool UpdateOp::is_scaled(std::span<const TensorSpec> inputs) const {
  return inputs.size() > parameters_ * inputs_of_each();
}

std::shared_ptr<const Op> sgd_momentum_op(SgdParams params, std::size_t parameters,
                                          const RankPlace& place) {
  return std::make_shared<SgdMomentum>(params, parameters, place);
}

std::shared_ptr<const Op> adam_op(AdamParams params, std::size_t parameters,
                                  const RankPlace& place) {
  if (params.step < 1) {
    throw std::invalid_argument(
        fmt::format("[adam] step, got {}, expected at least 1", params.step));
  }
  return std::make_shared<Adam>(params, parameters, place);
}

std::shared_ptr<const Op> sum_of_squares_op() { return std::make_shared<SumOfSquares>(); }

std::shared_ptr<const Op> clip_factor_op(float max_norm) {
  if (!(max_norm > 0)) {
    throw std::invalid_argument(
        fmt::format("[clip_factor] max_norm, got {}, expected a positive number", max_norm));
  }
  return std::make_shared<ClipFactor>(max_norm);
}

}  // namespace skyline
