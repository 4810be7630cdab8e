#include <vector>

#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_products_cpu.h"

namespace skyline {

namespace {

using dnnl::memory;

// Adding the product of the last rows to that of the others reads and writes the weight's gradient
// once more. For weights of at least this many elements that takes longer than compiling code.
constexpr std::int64_t kSumOfAllRows = std::int64_t{1} << 20;

}  // namespace

// Uses the matrix product primitive, not oneDNN's inner product: it reads the weight as stored, so
// the workspace needs no copy of it, and it is as fast or, with reorders, faster on our networks'
// shapes (128 x 784 x 1000, one core: 181 GFLOP/s, inner product 156). An inner product with a
// fixed layout is as fast, but allocates inside the library.
//
// Products run in row_pieces(): compiling code for a new number of rows takes about 1 ms for a
// layer's three products on one thread, 1 % of their time at 256 features and 10,002 outputs, 10 %
// at 64 and 2,002. Two pieces take as long as one product of all rows.
std::unique_ptr<Kernel> make_linear_cpu(const CpuOptions& options, const LinearProblem& problem) {
  const std::int64_t in = problem.x[1], out = problem.y[1];
  const memory::desc weight = transposed(problem.weight), bias = dnnl_layout({1, out});
  const auto call = [&](DnnlKernel& kernel, const RowRange& rows) {
    const memory::desc x = dnnl_layout({rows.count, in}), y = dnnl_layout({rows.count, out});
    call_product(kernel, {0, x, offset_bytes(rows, in)}, {1, weight},
                 {0, y, offset_bytes(rows, out)}, dnnl_user_scratchpad(),
                 problem.bias ? &bias : nullptr);
  };
  return make_row_products(row_pieces(problem.x[0]), options.lanes, call);
}

std::unique_ptr<Kernel> make_linear_grad_input_cpu(const CpuOptions& options,
                                                   const LinearProblem& problem) {
  const std::int64_t in = problem.x[1], out = problem.y[1];
  const memory::desc weight = dnnl_layout(problem.weight);
  const auto call = [&](DnnlKernel& kernel, const RowRange& rows) {
    const memory::desc x = dnnl_layout({rows.count, in}), y = dnnl_layout({rows.count, out});
    call_product(kernel, {1, y, offset_bytes(rows, out)}, {0, weight},
                 {0, x, offset_bytes(rows, in)}, dnnl_user_scratchpad());
  };
  return make_row_products(row_pieces(problem.x[0]), options.lanes, call);
}

std::unique_ptr<Kernel> make_linear_grad_weight_cpu(const LinearProblem& problem) {
  const RowRange all{0, problem.x[0]};
  const std::vector<RowRange> pieces = problem.weight.elements() > kSumOfAllRows
                                           ? std::vector<RowRange>{all}
                                           : row_pieces(all.count);
  return make_grad_weight_products(pieces, problem.x, problem.y, problem.bias);
}

std::unique_ptr<Kernel> make_linear_weight_sum_cpu(const CpuOptions& options,
                                                   const LinearProblem& problem, bool add) {
  const std::int64_t rows = problem.x[0], in = problem.x[1], out = problem.y[1];
  dnnl::primitive_attr attributes = dnnl_user_scratchpad();
  if (add) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const auto call = [&](DnnlKernel& kernel, const RowRange& part) {
    const memory::desc y({part.count, rows}, memory::data_type::f32, {1, out});
    const memory::desc x = dnnl_layout({rows, in}), weight = dnnl_layout({part.count, in});
    call_product(kernel, {1, y, offset_bytes(part, 1)}, {0, x}, {0, weight, offset_bytes(part, in)},
                 attributes);
  };
  const RowRange all{0, out};
  return make_row_products({&all, 1}, options.lanes, call);
}

}  // namespace skyline
