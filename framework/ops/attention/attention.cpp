#include "framework/ops/attention/attention.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/attention/attention_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

std::string params_text(const AttentionParams& params) {
  return fmt::format("sequences={} heads={}", params.sequences, params.heads);
}

AttentionProblem problem_of(const AttentionParams& params, std::span<const TensorSpec> inputs) {
  require_inputs("attention", inputs.size(), 1);
  require_float("attention", "qkv", inputs[0], 2);
  const Shape& qkv = inputs[0].shape;
  const auto divided = [&](std::int64_t extent, std::int64_t by) {
    if (by > 0 && extent % by == 0) return extent / by;
    throw ShapeError("attention", "qkv", inputs[0].str(),
                     "rows and columns that divide by " + params_text(params));
  };
  const AttentionProblem problem{.sequences = params.sequences,
                                 .words = divided(qkv[0], params.sequences),
                                 .heads = params.heads,
                                 .size = divided(qkv[1], 3 * params.heads)};
  if (problem.size > kMostHeadChannels) {
    throw ShapeError("attention", "channels of a head", std::to_string(problem.size),
                     fmt::format("at most {}", kMostHeadChannels));
  }
  return problem;
}

std::vector<GradientCall> gradients_of(const AttentionProblem& problem, const std::vector<bool>&) {
  auto op = gradient_op(problem, {.name = std::string(kAttentionGrad),
                                  .parameters = params_text({problem.sequences, problem.heads}),
                                  .operands = {{"qkv", {problem.qkv()}},
                                               {"y", {problem.y()}},
                                               {"logarithms", {problem.logarithms()}},
                                               {"grad_output", {problem.y()}}},
                                  .outputs = {{problem.qkv()}},
                                  .kernels = {make_attention_grad_cpu, make_attention_grad_cuda},
                                  .in_place = {{.input = 0, .output = 0}}});
  return {{.op = std::move(op),
           .sources = {GradientSource::input(0), GradientSource::output(0),
                       GradientSource::output(1), GradientSource::grad_output(0)},
           .gradient_of = {0}}};
}

const Declaration<AttentionProblem, AttentionParams> kDeclared = {
    .name = kAttention,
    .parameters = params_text,
    .problem = problem_of,
    .outputs =
        [](const AttentionProblem& problem) {
          return activations({{problem.y()}, {problem.logarithms()}});
        },
    .kernels = {make_attention_cpu, make_attention_cuda},
    .gradient = gradients_of};

}  // namespace

Tensor attention(Context& context, Tensor qkv, const AttentionParams& params) {
  return std::move(
      apply(context, declared_op(kDeclared, params), operands(std::move(qkv))).front());
}

}  // namespace skyline
