#include <algorithm>
#include <memory>
#include <vector>

#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/panel_products.h"
#include "framework/ops/support/row_products_cpu.h"

namespace skyline {

namespace {

using dnnl::memory;

// Adding the product of the last rows to that of the others reads and writes the weight's gradient
// once more. For weights of at least this many elements that takes longer than compiling code.
constexpr std::int64_t kSumOfAllRows = std::int64_t{1} << 20;

// Without AVX-512, the library packs the weight for each product, which 128 rows do not pay for.
// Panels of PanelProducts need no packed weight, or pack it in sequence: 128 x 1024 x 40,002 takes
// 63 to 75 ms instead of 90, the gradient of x 79 to 91 instead of 129 to 144 (two cores of an
// EPYC).
constexpr std::int64_t kMostRows = 128;

bool has_few_rows(const LinearProblem& problem, std::int64_t fewest) {
  constexpr std::int64_t kFewestFeatures = 512;
  const std::int64_t rows = problem.x[0];
  return runs_avx2() && !runs_avx512() && rows >= fewest && rows <= kMostRows &&
         problem.x[1] >= kFewestFeatures && problem.weight.elements() >= kSumOfAllRows;
}

// y = x weight^T + bias, of few rows: the transpose of weight x^T. Each thread computes bands of
// columns of y; no bit depends on how many.
class FewRowsProduct final : public Kernel {
 public:
  explicit FewRowsProduct(const LinearProblem& problem) : problem_(problem) {
    const std::int64_t rows = problem.x[0], in = problem.x[1];
    columns_ = panel_floats(1, rows);
    workspace_.add_floats(panel_floats(in, rows));
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const KernelArguments& arguments) override {
    const std::int64_t rows = problem_.x[0], in = problem_.x[1], out = problem_.y[1];
    auto* const packed = reinterpret_cast<float*>(arguments.workspace);
    for (std::int64_t first = 0; first < in; first += kDepth) {
      const PanelMatrix x{.values = arguments.input<float>(0) + first,
                          .row = 1,
                          .column = in,
                          .rows = std::min(kDepth, in - first),
                          .columns = rows};
      float* const to = packed + first * columns_;
      for_each_index(panel_count(rows), true, [&](std::int64_t i) { pack_panel(x, i, to); });
    }
    for_each_index((out + kBand - 1) / kBand, true, [&](std::int64_t band) {
      const RowRange classes{band * kBand, std::min(kBand, out - band * kBand)};
      write_band(classes, packed, arguments);
    });
  }

 private:
  static constexpr std::int64_t kBand = 24, kDepth = 1024;

  void write_band(const RowRange& band, const float* packed,
                  const KernelArguments& arguments) const {
    const std::int64_t rows = problem_.x[0], in = problem_.x[1], out = problem_.y[1];
    const float* const weight = arguments.input<float>(1) + band.first * in;
    float tile[kBand * kMostRows];
    for (std::int64_t first = 0; first < in; first += kDepth) {
      multiply_panels(columns_, {.left = weight + first,
                                 .left_row = in,
                                 .left_column = 1,
                                 .right = packed + first * columns_,
                                 .result = tile,
                                 .result_row = columns_,
                                 .rows = band.count,
                                 .depth = std::min(kDepth, in - first),
                                 .adds = first > 0});
    }
    const float* const bias = problem_.bias ? arguments.input<float>(2) + band.first : nullptr;
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const y = arguments.output<float>(0) + row * out + band.first;
      for (std::int64_t j = 0; j < band.count; ++j) {
        y[j] = tile[j * columns_ + row] + (bias == nullptr ? 0 : bias[j]);
      }
    }
  }

  LinearProblem problem_;
  std::int64_t columns_ = 0;  // of all panels
  WorkspaceLayout workspace_;
};

// grad_x = grad_y weight, of few rows: a sum over blocks of the weight's rows, which are read in
// sequence. No bit depends on the number of threads.
class FewRowsGradInput final : public Kernel {
 public:
  explicit FewRowsGradInput(const LinearProblem& problem) : problem_(problem) {
    workspace_.add_floats(panel_floats(kDepth, problem.x[1]));
    grad_y_ = workspace_.add_floats(problem.x[0] * kDepth);
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const KernelArguments& arguments) override {
    const std::int64_t in = problem_.x[1], out = problem_.y[1];
    for (std::int64_t first = 0; first < out; first += kDepth) {
      const RowRange block{first, std::min(kDepth, out - first)};
      pack(block, arguments);
      for_each_index(panel_count(in), true, [&](std::int64_t panel) {
        multiply_panel(panel, in,
                       {.left = copy_of_grad_y(arguments),
                        .left_row = kDepth,
                        .left_column = 1,
                        .right = reinterpret_cast<float*>(arguments.workspace),
                        .result = arguments.output<float>(0),
                        .result_row = in,
                        .rows = problem_.x[0],
                        .depth = block.count,
                        .adds = first > 0});
      });
    }
  }

 private:
  static constexpr std::int64_t kDepth = 256;

  float* copy_of_grad_y(const KernelArguments& arguments) const {
    return reinterpret_cast<float*>(arguments.workspace + grad_y_);
  }

  // Packs a block of the weight, and of grad_y, whose rows lie too far apart for the caches.
  void pack(const RowRange& block, const KernelArguments& arguments) const {
    const std::int64_t rows = problem_.x[0], in = problem_.x[1], out = problem_.y[1];
    const float* const weight = arguments.input<float>(0) + block.first * in;
    const float* const grad_y = arguments.input<float>(1) + block.first;
    auto* const packed = reinterpret_cast<float*>(arguments.workspace);
    const PanelMatrix matrix{
        .values = weight, .row = in, .column = 1, .rows = block.count, .columns = in};
    for_each_index(block.count, true, [&](std::int64_t k) { pack_row(matrix, k, packed); });
    for_each_index(rows, true, [&](std::int64_t row) {
      std::copy_n(grad_y + row * out, block.count, copy_of_grad_y(arguments) + row * kDepth);
    });
  }

  LinearProblem problem_;
  WorkspaceLayout workspace_;
  std::size_t grad_y_ = 0;
};

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
  if (has_few_rows(problem, 16)) return std::make_unique<FewRowsProduct>(problem);
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
  // Fewer rows do not pay for packing the weight here, either.
  if (has_few_rows(problem, 96)) return std::make_unique<FewRowsGradInput>(problem);
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

}  // namespace skyline
