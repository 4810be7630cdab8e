#include "framework/ops/connection/embedding.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/connection/embedding_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

EmbeddingProblem embedding_problem(const NoParams&, std::span<const TensorSpec> inputs) {
  require_inputs("embedding", inputs.size(), 2);
  const TensorSpec& ids = inputs[0];
  if (ids.dtype != DType::kInt32 || ids.shape.rank() != 1) {
    throw ShapeError("embedding", "ids", ids.str(), "i32 of rank 1");
  }
  if (ids.shape.elements() == 0) throw ShapeError("embedding", "ids", ids.str(), "no empty extent");
  require_float("embedding", "table", inputs[1], 2);
  const Shape& table = inputs[1].shape;
  return {.rows = ids.shape[0], .words = table[0], .features = table[1]};
}

std::vector<GradientCall> gradients_of(const EmbeddingProblem& problem, const std::vector<bool>&) {
  const auto& [rows, words, features] = problem;
  const TensorSpec table{{words, features}};
  return {
      {.op = gradient_op(problem, {.name = "embedding_grad",
                                   .parameters = "table=" + table.str(),
                                   .operands = {{"ids", {Shape{rows}, DType::kInt32}},
                                                {"grad_output", {{rows, features}}}},
                                   .outputs = {table},
                                   .kernels = {make_embedding_grad_cpu, make_embedding_grad_cuda},
                                   .cacheable = false}),
       .sources = {GradientSource::input(0), GradientSource::grad_output(0)},
       .gradient_of = {1}}};
}

const Declaration<EmbeddingProblem> kEmbedding = {
    .name = "embedding",
    .problem = embedding_problem,
    .outputs =
        [](const EmbeddingProblem& problem) {
          return activations({{{problem.rows, problem.features}}});
        },
    .kernels = {make_embedding_cpu, make_embedding_cuda},
    .gradient = gradients_of,
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
