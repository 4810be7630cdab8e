#include <algorithm>
#include <optional>

#include "framework/ops/recurrent/lstm_layers.h"
#include "framework/ops/recurrent/lstm_products_cpu.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/workspace_layout.h"

namespace skyline {
namespace {

// Layer by layer: one product of the inputs of all sentences and steps; then, step by step, the
// product with the outputs of the step before and the nonlinearities. The sentences of a step are
// the first ones of the step before, so every operand is a range of rows.
class LstmKernelCpu : public Kernel {
 public:
  LstmKernelCpu(const LstmProblem& problem, std::size_t parts);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  PackedProduct& projection(std::int64_t layer) {
    return layer > 0 && inner_projection_ ? *inner_projection_ : first_projection_;
  }
  const float* input(const LstmLayer& at, const KernelArguments& arguments) const;
  void project(const LstmLayer& at, const KernelArguments& arguments);
  void run_steps(const LstmLayer& at, std::byte* workspace);
  void copy_last(const float* packed, float* last) const;

  LstmProblem problem_;
  PackedProduct first_projection_;
  std::optional<PackedProduct> inner_projection_;  // if it differs from the first one
  PackedProduct recurrence_;
  WorkspaceLayout workspace_;
  std::size_t packed_ = 0, scratch_ = 0, bias_ = 0, zeros_ = 0, dropped_ = 0, unretained_ = 0;
};

PackedProduct::Options projection_of(const LstmProblem& problem, std::int64_t in,
                                     std::size_t parts) {
  return {.in = in,
          .out = problem.gates(),
          .transposed = true,
          .result = PackedProduct::Result::kAddBias,
          .parts = parts};
}

LstmKernelCpu::LstmKernelCpu(const LstmProblem& problem, std::size_t parts)
    : problem_(problem),
      first_projection_(projection_of(problem, problem.in, parts)),
      recurrence_({.in = problem.units,
                   .out = problem.gates(),
                   .transposed = true,
                   .result = PackedProduct::Result::kAdd,
                   .parts = parts}) {
  first_projection_.plan(problem.rows());
  if (problem.layers > 1 && problem.in != problem.units) {
    inner_projection_.emplace(projection_of(problem, problem.units, parts));
    inner_projection_->plan(problem.rows());
  }
  for (const std::int32_t size : problem.shape.batch_sizes()) recurrence_.plan(size);

  const PackedProduct& inner = projection(1);
  packed_ = workspace_.add(std::max(
      {first_projection_.packed_bytes(), inner.packed_bytes(), recurrence_.packed_bytes()}));
  scratch_ = workspace_.add(std::max(
      {first_projection_.scratch_bytes(), inner.scratch_bytes(), recurrence_.scratch_bytes()}));
  bias_ = workspace_.add_floats(problem.gates());
  zeros_ = workspace_.add_floats(problem.units);
  if (problem.mask) dropped_ = workspace_.add_floats(problem.rows() * problem.units);
  if (!problem.retained) unretained_ = workspace_.add_floats(LstmReserve(problem).floats());
}

// Returns a layer's input; above the first layer, after dropout.
const float* LstmKernelCpu::input(const LstmLayer& at, const KernelArguments& arguments) const {
  if (!problem_.drops(at.number)) return at.x;
  auto* output = reinterpret_cast<float*>(arguments.workspace + dropped_);
  run_on_floats(*make_dropout_cpu(problem_.rows() * problem_.units, problem_.mask_of(at.number)),
                {at.x}, output, arguments);
  return output;
}

void LstmKernelCpu::project(const LstmLayer& at, const KernelArguments& arguments) {
  std::byte* const workspace = arguments.workspace;
  auto* bias = reinterpret_cast<float*>(workspace + bias_);
  for (std::int64_t k = 0; k < problem_.gates(); ++k) bias[k] = at.bias_w[k] + at.bias_u[k];
  const PackedProduct::Workspace product{workspace + packed_, workspace + scratch_};
  projection(at.number).pack(at.w, product);
  projection(at.number).run(problem_.rows(),
                            {.x = input(at, arguments), .bias = bias, .y = at.gates}, product);
}

void LstmKernelCpu::run_steps(const LstmLayer& at, std::byte* workspace) {
  const PackedProduct::Workspace product{workspace + packed_, workspace + scratch_};
  recurrence_.pack(at.u, product);
  auto* zeros = reinterpret_cast<float*>(workspace + zeros_);
  std::fill_n(zeros, problem_.units, 0.0f);
  for (std::int64_t step = 0; step < problem_.shape.steps(); ++step) {
    const LstmRows rows = lstm_step(problem_, at, step, zeros);
    if (const float* h = outputs_before(problem_, at, step)) {
      recurrence_.run(rows.rows, {.x = h, .y = rows.gates}, product);
    }
    run_lstm_rows(rows);
  }
}

// Copies the rows of each sentence's last word: [R, H] to [B, H].
void LstmKernelCpu::copy_last(const float* packed, float* last) const {
  const PackedShape& shape = problem_.shape;
  const std::int64_t units = problem_.units;
  for (std::int64_t step = 0; step < shape.steps(); ++step) {
    const std::int64_t finished = shape.finished(step);
    const std::int64_t sentence = shape.size(step) - finished;
    std::copy_n(packed + (shape.offset(step) + sentence) * units, finished * units,
                last + sentence * units);
  }
}

void LstmKernelCpu::run(const KernelArguments& arguments) {
  auto* unretained = reinterpret_cast<float*>(arguments.workspace + unretained_);
  for (std::int64_t layer = 0; layer < problem_.layers; ++layer) {
    const LstmLayer at = lstm_layer(problem_, layer, arguments, unretained);
    project(at, arguments);
    run_steps(at, arguments.workspace);
    copy_last(at.outputs, at.last_h);
    copy_last(at.cells, at.last_c);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_lstm_cpu(const CpuOptions& options, const LstmProblem& problem) {
  return std::make_unique<LstmKernelCpu>(problem, options.lanes);
}

}  // namespace skyline
