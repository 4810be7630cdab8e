#include <omp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "framework/kernel.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/recurrent/lstm_layers.h"
#include "framework/ops/recurrent/lstm_products_cpu.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

LinearProblem linear(const LstmProblem& problem, std::int64_t width) {
  return {.x = {problem.rows(), width},
          .weight = {problem.gates(), width},
          .y = {problem.rows(), problem.gates()}};
}

// make(width of a layer's input): one for the first layer, and one for the others if it differs.
template <typename T>
class OfLayer {
 public:
  template <typename Make>
  OfLayer(const LstmProblem& problem, const Make& make) {
    made_.push_back(make(problem.in));
    if (problem.layers > 1 && problem.in != problem.units) made_.push_back(make(problem.units));
  }

  T& operator[](std::int64_t layer) { return layer == 0 ? made_.front() : made_.back(); }
  // Returns the most bytes of all.
  std::size_t bytes(std::size_t (*of)(const T&)) const {
    std::size_t most = 0;
    for (const T& one : made_) most = std::max(most, of(one));
    return most;
  }

 private:
  std::vector<T> made_;
};

using Kernels = OfLayer<std::unique_ptr<Kernel>>;

std::size_t workspace_of(const std::unique_ptr<Kernel>& kernel) {
  return kernel->workspace_bytes();
}

// Returns the product of all rows at once.
PackedProduct product_of_rows(const LstmProblem& problem, PackedProduct::Options options) {
  options.once_rows = problem.rows();
  PackedProduct product(options);
  product.plan(problem.rows());
  return product;
}

PackedProduct projection_of(const LstmProblem& problem, std::int64_t in, std::size_t parts) {
  return product_of_rows(problem,
                         {.in = in, .out = problem.gates(), .transposed = true, .parts = parts});
}

std::size_t packed_bytes(const PackedProduct& product) { return product.packed_bytes(); }
std::size_t scratch_bytes(const PackedProduct& product) { return product.scratch_bytes(); }

// A step's product: of all rows on all threads, or of some rows on this one.
void multiply(PackedProduct& product, std::int64_t rows, const PackedProduct::Operands& operands,
              std::byte* scratch) {
  product.run(rows, operands, scratch);
}
void multiply(PackedProduct& product, std::int64_t rows, const PackedProduct::Operands& operands,
              std::byte*, const RowTurns& turns) {
  product.run(rows, operands, turns);
}

// Calls steps(): all steps of a layer, whose threads share each step. Where the product allows it
// and each thread has some rows, calls steps(turns) on each instead: no sentence needs another, so
// threads wait for one another once a layer, not twice a step, and read their own rows alone. Each
// reads the whole weight then, so a large one is shared. A training step of three layers of 256
// units and 32 pairs of 20 words takes 115 to 124 ms instead of 128 to 138 (two cores of an EPYC).
template <typename Steps>
void run_in_turns(const PackedProduct& product, const LstmProblem& problem, const Steps& steps) {
  constexpr std::int64_t kFewestRows = 12, kLargeWeight = std::int64_t{1} << 20;
  const std::int64_t threads = omp_get_max_threads();
  const bool shares = product.shares_rows() && !WideOp::running() && threads > 1 &&
                      problem.sentences() >= threads * kFewestRows &&
                      problem.units * problem.gates() < kLargeWeight;
  if (!shares) return steps();
  for_each_index(threads, true,
                 [&](std::int64_t thread) { steps(RowTurns{.first = thread, .step = threads}); });
}

// Layer by layer: one product of the inputs of all sentences and steps; then, step by step, the
// product with the outputs of the step before and the nonlinearities. The sentences of a step are
// the first ones of the step before, so every operand is a range of rows.
class LstmKernelCpu : public Kernel {
 public:
  LstmKernelCpu(const CpuOptions& options, const LstmProblem& problem);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  const float* input(const LstmLayer& at, const KernelArguments& arguments) const;
  void project(const LstmLayer& at, const KernelArguments& arguments);
  void run_steps(const LstmLayer& at, std::byte* workspace);

  LstmProblem problem_;
  OfLayer<PackedProduct> projections_;
  PackedProduct recurrence_;
  WorkspaceLayout workspace_;
  std::size_t packed_ = 0, scratch_ = 0, zeros_ = 0, dropped_ = 0, unretained_ = 0;
};

LstmKernelCpu::LstmKernelCpu(const CpuOptions& options, const LstmProblem& problem)
    : problem_(problem),
      projections_(problem,
                   [&](std::int64_t in) { return projection_of(problem, in, options.lanes); }),
      recurrence_({.in = problem.units,
                   .out = problem.gates(),
                   .transposed = true,
                   .add = true,
                   .parts = options.lanes}) {
  for (const std::int32_t size : problem.shape.batch_sizes()) recurrence_.plan(size);

  packed_ = workspace_.add(std::max(recurrence_.packed_bytes(), projections_.bytes(packed_bytes)));
  scratch_ =
      workspace_.add(std::max(recurrence_.scratch_bytes(), projections_.bytes(scratch_bytes)));
  zeros_ = workspace_.add_floats(problem.units);
  if (problem.mask) dropped_ = workspace_.add_floats(problem.rows() * problem.units);
  if (!problem.retained) unretained_ = workspace_.add_floats(LstmReserve(problem).floats());
}

// Returns a layer's input; above the first layer, after dropout.
const float* LstmKernelCpu::input(const LstmLayer& at, const KernelArguments& arguments) const {
  if (!problem_.drops(at.number)) return at.x;
  auto* output = reinterpret_cast<float*>(arguments.workspace + dropped_);
  run_on_floats(*make_dropout_cpu(problem_.rows() * problem_.units, problem_.mask_of(at.number)),
                {at.x}, {output}, arguments);
  return output;
}

void LstmKernelCpu::project(const LstmLayer& at, const KernelArguments& arguments) {
  std::byte* const scratch = arguments.workspace + scratch_;
  PackedProduct& product = projections_[at.number];
  const float* w = product.pack(at.w, arguments.workspace + packed_, scratch);
  product.run(problem_.rows(), {.x = input(at, arguments), .weight = w, .y = at.gates}, scratch);
}

void LstmKernelCpu::run_steps(const LstmLayer& at, std::byte* workspace) {
  std::byte* const scratch = workspace + scratch_;
  const float* u = recurrence_.pack(at.u, workspace + packed_, scratch);
  auto* zeros = reinterpret_cast<float*>(workspace + zeros_);
  std::fill_n(zeros, problem_.units, 0.0f);
  const auto run = [&](const auto&... place) {
    for (std::int64_t step = 0; step < problem_.shape.steps(); ++step) {
      const LstmRows rows = lstm_step(problem_, at, step, zeros);
      if (const float* h = outputs_before(problem_, at, step)) {
        multiply(recurrence_, rows.rows, {.x = h, .weight = u, .y = rows.gates}, scratch, place...);
      }
      run_lstm_rows(rows, place...);
    }
  };
  run_in_turns(recurrence_, problem_, run);
}

void LstmKernelCpu::run(const KernelArguments& arguments) {
  auto* unretained = reinterpret_cast<float*>(arguments.workspace + unretained_);
  for (std::int64_t layer = 0; layer < problem_.layers; ++layer) {
    const LstmLayer at = lstm_layer(problem_, layer, arguments, unretained);
    project(at, arguments);
    run_steps(at, arguments.workspace);
  }
}

// Layer by layer from the last: step by step back in time, the gradients of the gates' sums and the
// product that passes them to the step before; then, for all steps at once, the products that give
// the gradients of w, u and the layer's input, which is the gradient of the outputs of the layer
// below.
class LstmGradKernelCpu : public Kernel {
 public:
  LstmGradKernelCpu(const CpuOptions& options, const LstmGradProblem& problem);

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  void run(const KernelArguments& arguments) override;

 private:
  static float* at(const KernelArguments& arguments, std::size_t offset) {
    return reinterpret_cast<float*>(arguments.workspace + offset);
  }

  void lay_out_workspace();
  void run_steps(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_weight_gradients(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_grad_w(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_grad_u(const LstmGradLayer& layer, const KernelArguments& arguments);
  void write_grad_x(const LstmGradLayer& layer, const KernelArguments& arguments);
  void copy_outputs_before(const LstmGradLayer& layer, float* rows) const;
  void drop(std::int64_t layer, const float* input, float* output,
            const KernelArguments& arguments) const;

  LstmProblem problem_;
  LstmGradients gradients_;
  PackedProduct to_step_before_;
  OfLayer<PackedProduct> to_input_;
  Kernels to_w_;
  std::unique_ptr<Kernel> to_u_;
  // The gradients of w and u are computed at the same time, so the latter needs memory of its own.
  bool apart_;
  WorkspaceLayout workspace_;
  std::size_t packed_ = 0, scratch_ = 0, zeros_ = 0, grad_sums_ = 0, rows_ = 0;
  std::size_t u_scratch_ = 0, u_rows_ = 0;
  std::size_t grad_h_ = 0, grad_c_ = 0;
};

LstmGradKernelCpu::LstmGradKernelCpu(const CpuOptions& options, const LstmGradProblem& problem)
    : problem_(problem.forward),
      gradients_(problem.gradients),
      to_step_before_({.in = problem_.gates(), .out = problem_.units, .parts = options.lanes}),
      to_input_(problem_,
                [&](std::int64_t in) {
                  return product_of_rows(
                      problem_, {.in = problem_.gates(), .out = in, .parts = options.lanes});
                }),
      to_w_(problem_,
            [this](std::int64_t in) {
              LinearProblem with_bias = linear(problem_, in);
              with_bias.bias = true;
              return make_linear_grad_weight_cpu(with_bias);
            }),
      to_u_(make_linear_grad_weight_cpu(linear(problem_, problem_.units))),
      apart_(options.lanes > 1) {
  for (const std::int32_t size : problem_.shape.batch_sizes()) to_step_before_.plan(size);
  lay_out_workspace();
}

void LstmGradKernelCpu::lay_out_workspace() {
  packed_ = workspace_.add(std::max(to_step_before_.packed_bytes(), to_input_.bytes(packed_bytes)));
  scratch_ =
      workspace_.add(std::max({to_step_before_.scratch_bytes(), to_input_.bytes(scratch_bytes),
                               to_w_.bytes(workspace_of), to_u_->workspace_bytes()}));
  zeros_ = workspace_.add_floats(problem_.units);
  grad_sums_ = workspace_.add_floats(problem_.rows() * problem_.gates());
  u_rows_ = rows_ = workspace_.add_floats(problem_.rows() * problem_.units);
  u_scratch_ = scratch_;
  if (apart_ && gradients_.weights) {
    u_scratch_ = workspace_.add(to_u_->workspace_bytes());
    u_rows_ = workspace_.add_floats(problem_.rows() * problem_.units);
  }
  if (gradients_.state) return;
  grad_h_ = workspace_.add_floats(problem_.sentences() * problem_.units);
  grad_c_ = workspace_.add_floats(problem_.sentences() * problem_.units);
}

void LstmGradKernelCpu::run_steps(const LstmGradLayer& layer, const KernelArguments& arguments) {
  std::byte* const scratch = arguments.workspace + scratch_;
  const float* u = to_step_before_.pack(layer.u, arguments.workspace + packed_, scratch);
  float* zeros = at(arguments, zeros_);
  std::fill_n(zeros, problem_.units, 0.0f);
  const auto run = [&](const auto&... place) {
    for (std::int64_t step = problem_.shape.steps() - 1; step >= 0; --step) {
      const LstmGradRows rows =
          lstm_grad_step(problem_, layer, step, zeros, at(arguments, grad_sums_));
      run_lstm_grad_rows(rows, place...);
      if (step == 0 && !gradients_.state) break;
      multiply(to_step_before_, rows.rows, {.x = rows.grad_sums, .weight = u, .y = layer.grad_h},
               scratch, place...);
    }
  };
  run_in_turns(to_step_before_, problem_, run);
}

// Applies dropout to a layer's input again, from what was retained, or to its gradient.
void LstmGradKernelCpu::drop(std::int64_t layer, const float* input, float* output,
                             const KernelArguments& arguments) const {
  run_on_floats(*make_dropout_cpu(problem_.rows() * problem_.units, problem_.mask_of(layer)),
                {input}, {output}, arguments);
}

// Copies the output that each row's recurrent product read: that of the step before, or the initial
// state.
void LstmGradKernelCpu::copy_outputs_before(const LstmGradLayer& layer, float* rows) const {
  const PackedShape& shape = problem_.shape;
  const std::int64_t units = problem_.units;
  const bool parallel = problem_.rows() * units >= kSerialArithmetic;
  for_each_index(shape.steps(), parallel, [&](std::int64_t step) {
    const std::int64_t count = shape.size(step) * units;
    float* to = rows + shape.offset(step) * units;
    if (const float* before = outputs_before(problem_, layer, step)) {
      std::copy_n(before, count, to);
    } else {
      std::fill_n(to, count, 0.0f);
    }
  });
}

void LstmGradKernelCpu::write_weight_gradients(const LstmGradLayer& layer,
                                               const KernelArguments& arguments) {
  if (!apart_ || !WideOp::running()) {
    write_grad_w(layer, arguments);
    write_grad_u(layer, arguments);
    return;
  }
  WideOp::share(2, 1, [&](std::int64_t begin, std::int64_t end) {
    if (begin == 0) write_grad_w(layer, arguments);
    if (end == 2) write_grad_u(layer, arguments);
  });
}

// Both biases have one gradient.
void LstmGradKernelCpu::write_grad_w(const LstmGradLayer& layer, const KernelArguments& arguments) {
  const float* x = layer.x;
  if (problem_.drops(layer.number)) {
    drop(layer.number, x, at(arguments, rows_), arguments);
    x = at(arguments, rows_);
  }
  run_on_floats(*to_w_[layer.number], {x, at(arguments, grad_sums_)},
                {layer.grad_w, layer.grad_bias_w}, {}, arguments.workspace + scratch_);
  std::copy_n(layer.grad_bias_w, problem_.gates(), layer.grad_bias_u);
}

void LstmGradKernelCpu::write_grad_u(const LstmGradLayer& layer, const KernelArguments& arguments) {
  float* const rows = at(arguments, u_rows_);
  copy_outputs_before(layer, rows);
  run_on_floats(*to_u_, {rows, at(arguments, grad_sums_)}, {layer.grad_u}, {},
                arguments.workspace + u_scratch_);
}

void LstmGradKernelCpu::write_grad_x(const LstmGradLayer& layer, const KernelArguments& arguments) {
  std::byte* const scratch = arguments.workspace + scratch_;
  PackedProduct& product = to_input_[layer.number];
  const float* w = product.pack(layer.w, arguments.workspace + packed_, scratch);
  product.run(problem_.rows(), {.x = at(arguments, grad_sums_), .weight = w, .y = layer.grad_x},
              scratch);
  if (problem_.drops(layer.number)) drop(layer.number, layer.grad_x, layer.grad_x, arguments);
}

void LstmGradKernelCpu::run(const KernelArguments& arguments) {
  const LstmGradWorkspace workspace{at(arguments, rows_), at(arguments, grad_h_),
                                    at(arguments, grad_c_)};
  for (std::int64_t number = problem_.layers - 1; number >= 0; --number) {
    const LstmGradLayer layer = lstm_grad_layer(problem_, gradients_, number, arguments, workspace);
    run_steps(layer, arguments);
    if (gradients_.weights) write_weight_gradients(layer, arguments);
    if (layer.grad_x != nullptr) write_grad_x(layer, arguments);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_lstm_cpu(const CpuOptions& options, const LstmProblem& problem) {
  return std::make_unique<LstmKernelCpu>(options, problem);
}

std::unique_ptr<Kernel> make_lstm_grad_cpu(const CpuOptions& options,
                                           const LstmGradProblem& problem) {
  return std::make_unique<LstmGradKernelCpu>(options, problem);
}

}  // namespace skyline
