#include "framework/ops/connection/embedding.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/declared_op.h"
#include "framework/ops/support/sum_reader.h"

namespace skyline {
namespace {

EmbeddingProblem embedding_problem(const NoParams&, std::span<const TensorSpec> inputs) {
  require_inputs("embedding", inputs.size(), 2);
  const TensorSpec& ids = inputs[0];
  if (ids.dtype != DType::kInt32 || ids.shape.rank() != 1) {
    throw ShapeError("embedding", "ids", ids.str(), "i32 of rank 1");
  }
  if (ids.shape[0] == 0) throw ShapeError("embedding", "ids", ids.str(), "no empty extent");
  require_float("embedding", "table", inputs[1], 2);
  const Shape& table = inputs[1].shape;
  return {.rows = inputs[0].shape[0], .words = table[0], .features = table[1]};
}

using EmbeddingGradOp = GradientOp<EmbeddingProblem>;

EmbeddingGradOp::Declaration grad_of(const EmbeddingProblem& problem) {
  const TensorSpec table{{problem.words, problem.features}};
  EmbeddingGradOp::Declaration declared{
      .name = problem.adds ? "embedding_grad_onto" : "embedding_grad",
      .parameters = "table=" + table.str(),
      .operands = {{"ids", {Shape{problem.rows}, DType::kInt32}},
                   {"grad_output", {{problem.rows, problem.features}}}},
      .outputs = {table},
      .kernels = {make_embedding_grad_cpu, make_embedding_grad_cuda},
      .cacheable = false};
  if (problem.adds) {
    declared.operands.push_back({"grad_table", table});
    declared.in_place.push_back({.input = 2, .output = 0});
  }
  return declared;
}

class EmbeddingGrad final : public EmbeddingGradOp, public GradientAdder {
 public:
  explicit EmbeddingGrad(const EmbeddingProblem& problem)
      : EmbeddingGradOp(problem, grad_of(problem)), onto_(problem) {
    onto_.adds = true;
  }
  std::shared_ptr<const Op> onto() const override { return gradient_op(onto_, grad_of(onto_)); }

 private:
  EmbeddingProblem onto_;
};

const Declaration<EmbeddingProblem> kEmbedding = {
    .name = "embedding",
    .problem = embedding_problem,
    .outputs =
        [](const EmbeddingProblem& problem) {
          return activations({{{problem.rows, problem.features}}});
        },
    .kernels = {make_embedding_cpu, make_embedding_cuda},
    .gradient =
        [](const EmbeddingProblem& problem, const std::vector<bool>&) {
          return std::vector{
              GradientCall{.op = std::make_shared<EmbeddingGrad>(problem),
                           .sources = {GradientSource::input(0), GradientSource::grad_output(0)},
                           .gradient_of = {1}}};
        },
    .cacheable = false};

}  // namespace

WordError::WordError(std::int64_t row, std::int32_t id, std::int64_t words)
    : std::out_of_range(
          fmt::format("[embedding] id of row {}, got {}, expected 0 to {}", row, id, words - 1)),
      row_(row),
      id_(id),
      words_(words) {}

Tensor embedding(Context& context, Tensor ids, Tensor table) {
  return apply(context, declared_op(kEmbedding), operands(std::move(ids), std::move(table)))
      .front();
}

}  // namespace skyline
