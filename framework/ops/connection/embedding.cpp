#include "framework/ops/connection/embedding.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/connection/embedding_kernels.h"
#include "framework/ops/support/declared_op.h"
#include "framework/ops/support/sum_reader.h"

namespace skyline {
namespace {

void require_ids(const std::string& where, const TensorSpec& ids, int rank) {
  if (ids.dtype != DType::kInt32 || ids.shape.rank() != rank) {
    throw ShapeError(where, "ids", ids.str(), fmt::format("i32 of rank {}", rank));
  }
  if (ids.shape.elements() == 0) throw ShapeError(where, "ids", ids.str(), "no empty extent");
}

EmbeddingProblem embedding_problem(const NoParams&, std::span<const TensorSpec> inputs) {
  require_inputs("embedding", inputs.size(), 2);
  require_ids("embedding", inputs[0], 1);
  require_float("embedding", "table", inputs[1], 2);
  const Shape& table = inputs[1].shape;
  return {.rows = inputs[0].shape[0], .words = table[0], .features = table[1]};
}

using EmbeddingGradOp = GradientOp<EmbeddingProblem>;

EmbeddingGradOp::Declaration grad_of(const EmbeddingProblem& problem, const Shape& ids) {
  const TensorSpec table{{problem.words, problem.features}};
  EmbeddingGradOp::Declaration declared{
      .name = problem.adds ? "embedding_grad_onto" : "embedding_grad",
      .parameters = "table=" + table.str(),
      .operands = {{"ids", {ids, DType::kInt32}},
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
  EmbeddingGrad(const EmbeddingProblem& problem, const Shape& ids)
      : EmbeddingGradOp(problem, grad_of(problem, ids)), onto_(problem), ids_(ids) {
    onto_.adds = true;
  }
  std::shared_ptr<const Op> onto() const override {
    return gradient_op(onto_, grad_of(onto_, ids_));
  }

 private:
  EmbeddingProblem onto_;
  Shape ids_;
};

GradientCall gradient_of_words(const EmbeddingProblem& problem, const Shape& ids) {
  return {.op = std::make_shared<EmbeddingGrad>(problem, ids),
          .sources = {GradientSource::input(0), GradientSource::grad_output(0)},
          .gradient_of = {1}};
}

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
          return std::vector{gradient_of_words(problem, Shape{problem.rows})};
        },
    .cacheable = false};

EmbeddingSumProblem sum_problem(const NoParams&, std::span<const TensorSpec> inputs) {
  require_inputs("embedding_sum", inputs.size(), 3);
  require_ids("embedding_sum", inputs[0], 2);
  require_float("embedding_sum", "words", inputs[1], 2);
  require_float("embedding_sum", "places", inputs[2], 2);
  const Shape &ids = inputs[0].shape, &words = inputs[1].shape, &places = inputs[2].shape;
  require_extent("embedding_sum", "columns of places", places[1], words[1]);
  if (places[0] < ids[1]) {
    throw ShapeError("embedding_sum", "rows of places", std::to_string(places[0]),
                     fmt::format("at least {}", ids[1]));
  }
  return {.words = {.rows = ids.elements(), .words = words[0], .features = words[1]},
          .length = ids[1],
          .places = places[0]};
}

std::vector<GradientCall> sum_gradients(const EmbeddingSumProblem& problem,
                                        const std::vector<bool>& needed) {
  const auto& [rows, words, features, adds] = problem.words;
  std::vector<GradientCall> calls;
  if (needed[1]) {
    calls.push_back(gradient_of_words(problem.words, {rows / problem.length, problem.length}));
  }
  if (needed[2]) {
    auto op = gradient_op(
        problem, {.name = "embedding_sum_grad",
                  .parameters = fmt::format("length={} places={}", problem.length, problem.places),
                  .operands = {{"grad_output", {{rows, features}}}},
                  .outputs = {{{problem.places, features}}},
                  .kernels = {make_embedding_sum_grad_cpu, make_embedding_sum_grad_cuda},
                  .cacheable = false});
    calls.push_back(
        {.op = std::move(op), .sources = {GradientSource::grad_output(0)}, .gradient_of = {2}});
  }
  return calls;
}

const Declaration<EmbeddingSumProblem> kEmbeddingSum = {
    .name = "embedding_sum",
    .problem = sum_problem,
    .outputs =
        [](const EmbeddingSumProblem& problem) {
          return activations({{{problem.words.rows, problem.words.features}}});
        },
    .kernels = {make_embedding_sum_cpu, make_embedding_sum_cuda},
    .gradient = sum_gradients,
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

Tensor embedding_sum(Context& context, Tensor ids, Tensor words, Tensor places) {
  return apply(context, declared_op(kEmbeddingSum),
               operands(std::move(ids), std::move(words), std::move(places)))
      .front();
}

}  // namespace skyline
