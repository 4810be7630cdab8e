#include "framework/ops/connection/embedding.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/connection/embedding_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

// Throws ShapeError unless `ids` is i32 of rank 1 and not empty.
void require_ids(const std::string& where, const TensorSpec& ids) {
  if (ids.dtype != DType::kInt32 || ids.shape.rank() != 1) {
    throw ShapeError(where, "ids", ids.str(), "i32 of rank 1");
  }
  if (ids.shape.elements() == 0) throw ShapeError(where, "ids", ids.str(), "no empty extent");
}

// Inputs ids, grad_output; output grad_table.
class EmbeddingGrad : public Op {
 public:
  explicit EmbeddingGrad(TensorSpec table) : table_(table) {}
  std::string_view name() const override { return "embedding_grad"; }
  std::string parameters() const override { return "table=" + table_.str(); }
  bool cacheable() const override { return false; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("embedding_grad", inputs.size(), 2);
    require_ids("embedding_grad", inputs[0]);
    require_spec("embedding_grad", "grad_output", inputs[1],
                 {{inputs[0].shape[0], table_.shape[1]}});
    return {{table_, Category::kGradient}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const EmbeddingProblem problem{inputs[0].shape[0], table_.shape[0], table_.shape[1]};
    return compute.cuda() ? make_embedding_grad_cuda(*compute.cuda(), problem)
                          : make_embedding_grad_cpu(problem);
  }

 private:
  TensorSpec table_;
};

// Inputs ids, table.
class Embedding : public Op {
 public:
  std::string_view name() const override { return "embedding"; }
  bool cacheable() const override { return false; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("embedding", inputs.size(), 2);
    require_ids("embedding", inputs[0]);
    require_float("embedding", "table", inputs[1], 2);
    return {{{{inputs[0].shape[0], inputs[1].shape[1]}}, Category::kActivation}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& table = inputs[1].shape;
    const EmbeddingProblem problem{inputs[0].shape[0], table[0], table[1]};
    return compute.cuda() ? make_embedding_cuda(*compute.cuda(), problem)
                          : make_embedding_cpu(problem);
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    return {{.op = std::make_shared<EmbeddingGrad>(inputs[1]),
             .sources = {GradientSource::input(0), GradientSource::grad_output(0)},
             .gradient_of = {1}}};
  }
};

}  // namespace

WordError::WordError(std::int64_t row, std::int32_t id, std::int64_t words)
    : std::out_of_range(
          fmt::format("[embedding] id of row {}, got {}, expected 0 to {}", row, id, words - 1)),
      row_(row),
      id_(id),
      words_(words) {}

Tensor embedding(Context& context, Tensor ids, Tensor table) {
  return apply(context, std::make_shared<Embedding>(), operands(std::move(ids), std::move(table)))
      .front();
}

}  // namespace skyline
