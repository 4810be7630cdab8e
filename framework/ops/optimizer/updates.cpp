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

template <typename Function>
struct UpdateRule {
  std::string_view name;
  std::string parameters;
  std::vector<std::string> state;  // names of the parts, for messages
  Function function;
  KernelMakers<UpdateProblem<Function>> kernels;
};

template <typename Function>
class UpdateOp final : public Op {
 public:
  UpdateOp(UpdateRule<Function> rule, std::size_t parameters, const RankOf& place)
      : rule_(std::move(rule)), parameters_(parameters), place_(place) {
    if (parameters == 0) throw std::invalid_argument("[update] got no parameter, expected some");
  }

  std::string_view name() const override { return rule_.name; }
  // Who updates what, and how.
  std::string parameters() const override {
    return fmt::format("parameters={} rank={}/{} {}", parameters_, place_.rank, place_.ranks,
                       rule_.parameters);
  }
  RunValue run_value() const override { return RunValue(rule_.function.rate); }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
    const std::string where(name());
    const std::size_t unscaled = parameters_ * kInputs;
    require_inputs(where, inputs.size(), unscaled + (inputs.size() > unscaled ? 1 : 0));
    std::vector<OutputSpec> outputs;
    for (std::size_t first = 0; first < unscaled; first += kInputs) {
      const TensorSpec expected{inputs[first].shape, DType::kFloat32};
      require_spec(where, "value", inputs[first], expected);
      require_spec(where, "gradient", inputs[first + 1], expected);
      outputs.push_back({expected, Category::kParameter});
      const TensorSpec state = state_spec(expected, place_);
      for (std::size_t part = 0; part < Function::kParts; ++part) {
        require_spec(where, rule_.state[part], inputs[first + 2 + part], state);
        outputs.push_back({state, Category::kOptimizer});
      }
    }
    if (inputs.size() > unscaled) {
      require_spec(where, "gradient_scale", inputs.back(), {Shape{1}});
    }
    return outputs;
  }

  std::vector<InPlacePair> in_place() const override {
    std::vector<InPlacePair> pairs;
    for (std::size_t p = 0; p < parameters_; ++p) {
      for (std::size_t k = 0; k < kOutputs; ++k) {  // all but the gradient
        pairs.push_back({.input = static_cast<int>(p * kInputs + k + (k > 0 ? 1 : 0)),
                         .output = static_cast<int>(p * kOutputs + k)});
      }
    }
    return pairs;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    UpdateProblem<Function> problem{
        .ranges = {}, .function = rule_.function, .scaled = inputs.size() > parameters_ * kInputs};
    for (std::size_t p = 0; p < parameters_; ++p) {
      const auto size = static_cast<std::size_t>(inputs[p * kInputs].shape.elements());
      const RankShare share = share_of_tensor(size, place_);
      problem.ranges.push_back({.first = static_cast<std::int64_t>(share.begin),
                                .count = static_cast<std::int64_t>(share.size()),
                                .matrix = inputs[p * kInputs].shape.rank() > 1});
    }
    return rule_.kernels.make(compute, problem);
  }

 private:
  static constexpr std::size_t kInputs = 2 + Function::kParts, kOutputs = 1 + Function::kParts;

  UpdateRule<Function> rule_;
  std::size_t parameters_;
  RankOf place_;
};

// Returns the bias of a moment's mean at a step. Throws std::invalid_argument.
double bias_of(const char* op, float beta, std::int64_t step) {
  if (step < 1) {
    throw std::invalid_argument(fmt::format("[{}] step, got {}, expected at least 1", op, step));
  }
  return 1 - std::pow(double{beta}, static_cast<double>(step));
}

std::shared_ptr<const Op> adam_like(std::string_view name, const AdamParams& params, AdamRate rate,
                                    std::size_t parameters, const RankOf& place) {
  return std::make_shared<UpdateOp<AdamFunction>>(
      UpdateRule<AdamFunction>{
          .name = name,
          .parameters = fmt::format("beta1={} beta2={} epsilon={}", params.beta1, params.beta2,
                                    params.epsilon),
          .state = {"first moment", "second moment"},
          .function = {.rate = rate,
                       .beta1 = params.beta1,
                       .beta2 = params.beta2,
                       .epsilon = params.epsilon},
          .kernels = {make_adam_cpu, make_adam_cuda}},
      parameters, place);
}

const Declaration<std::int64_t> kSumOfSquares = {
    .name = "sum_of_squares",
    .problem =
        [](const NoParams&, Specs inputs) {
          require_inputs("sum_of_squares", inputs.size(), 1);
          require_spec("sum_of_squares", "gradient", inputs[0], {inputs[0].shape, DType::kFloat32});
          return inputs[0].shape.elements();
        },
    .outputs = [](const std::int64_t&) -> std::vector<OutputSpec> {
      return {{{Shape{1}}, Category::kOptimizer}};
    },
    .kernels = {make_sum_of_squares_cpu, make_sum_of_squares_cuda}};

class ClipFactor : public Op {
 public:
  explicit ClipFactor(float max_norm) : max_norm_(max_norm) {}
  std::string_view name() const override { return "clip_factor"; }
  std::string parameters() const override { return fmt::format("max_norm={}", max_norm_); }
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    if (inputs.empty()) throw ShapeError("clip_factor", "number of sums", "0", "at least 1");
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      require_spec("clip_factor", fmt::format("sum {}", k), inputs[k], {Shape{1}});
    }
    return {{{Shape{1}}, Category::kOptimizer}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return compute.cuda() ? make_clip_factor_cuda(*compute.cuda(), inputs.size(), max_norm_)
                          : make_clip_factor_cpu(inputs.size(), max_norm_);
  }

 private:
  float max_norm_;
};

}  // namespace

TensorSpec state_spec(const TensorSpec& value, const RankOf& place) {
  if (place.ranks == 1) return value;
  const auto size = static_cast<std::size_t>(value.shape.elements());
  return {.shape = {static_cast<std::int64_t>(largest_share_of_tensor(size, place.ranks))}};
}

std::shared_ptr<const Op> sgd_momentum_op(SgdParams params, std::size_t parameters,
                                          const RankOf& place) {
  return std::make_shared<UpdateOp<SgdMomentumFunction>>(
      UpdateRule<SgdMomentumFunction>{
          .name = "sgd_momentum",
          .parameters =
              fmt::format("momentum={} weight_decay={}", params.momentum, params.weight_decay),
          .state = {"velocity"},
          .function = {.rate = params.learning_rate,
                       .momentum = params.momentum,
                       .weight_decay = params.weight_decay},
          .kernels = {make_sgd_momentum_cpu, make_sgd_momentum_cuda}},
      parameters, place);
}

std::shared_ptr<const Op> adam_op(AdamParams params, std::size_t parameters, const RankOf& place) {
  const double correction = std::sqrt(bias_of("adam", params.beta2, params.step)) /
                            bias_of("adam", params.beta1, params.step);
  return adam_like("adam", params, {.step = static_cast<float>(params.alpha * correction)},
                   parameters, place);
}

std::shared_ptr<const Op> adamw_op(AdamParams params, std::size_t parameters, const RankOf& place) {
  const double first = bias_of("adamw", params.beta1, params.step);
  const double second = bias_of("adamw", params.beta2, params.step);
  return adam_like("adamw", params,
                   {.step = static_cast<float>(params.alpha / first),
                    .root = static_cast<float>(1 / std::sqrt(second)),
                    .decay = params.alpha * params.weight_decay},
                   parameters, place);
}

std::shared_ptr<const Op> sum_of_squares_op() { return declared_op(kSumOfSquares); }

std::shared_ptr<const Op> clip_factor_op(float max_norm) {
  if (!(max_norm > 0)) {
    throw std::invalid_argument(
        fmt::format("[clip_factor] max_norm, got {}, expected a positive number", max_norm));
  }
  return std::make_shared<ClipFactor>(max_norm);
}

}  // namespace skyline
