#include "framework/ops/support/row_products_cpu.h"

#include <algorithm>
#include <string>
#include <vector>

#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/panel_products.h"

namespace skyline {
namespace {

using dnnl::memory;

// Small products of blocks (AVX-512) add along a row of the left matrix in one sequence, whatever
// the number of rows is. oneDNN's other products ("gemm:jit") do not.
bool computes_rows_alike(const DnnlKernel& kernel) {
  return std::ranges::all_of(kernel.implementations(),
                             [](const std::string& name) { return name.starts_with("brg:"); });
}

// Each task sums the rows of some columns: in floats within a block of rows, in doubles beyond.
void add_rows(const float* matrix, const Shape& shape, float* sums) {
  constexpr std::int64_t kBlockRows = 256, kTaskColumns = 128;
  const std::int64_t rows = shape[0], columns = shape[1];
  const bool parallel = shape.elements() >= kSerialArithmetic;
  for_each_index((columns + kTaskColumns - 1) / kTaskColumns, parallel, [&](std::int64_t task) {
    const std::int64_t first = task * kTaskColumns;
    const std::int64_t count = std::min(kTaskColumns, columns - first);
    double total[kTaskColumns] = {};
    for (std::int64_t block = 0; block < rows; block += kBlockRows) {
      float partial[kTaskColumns] = {};
      for (std::int64_t row = block; row < std::min(block + kBlockRows, rows); ++row) {
        const float* values = matrix + row * columns + first;
        for (std::int64_t i = 0; i < count; ++i) partial[i] += values[i];
      }
      for (std::int64_t i = 0; i < count; ++i) total[i] += partial[i];
    }
    for (std::int64_t i = 0; i < count; ++i) sums[first + i] = static_cast<float>(total[i]);
  });
}

// The product of the first piece of the rows is the gradient; those of the others are added to it.
class GradWeightProducts final : public DnnlKernel {
 public:
  GradWeightProducts(std::span<const RowRange> pieces, const Shape& x, const Shape& y, bool bias)
      : y_(y), bias_(bias) {
    for (const RowRange& piece : pieces) add_product(piece, x[1]);
  }

  void run(const KernelArguments& arguments) override {
    DnnlKernel::run(arguments);
    if (bias_) add_rows(arguments.input<float>(1), y_, arguments.output<float>(1));
  }

 private:
  void add_product(const RowRange& piece, std::int64_t features) {
    const Shape x{piece.count, features}, y{piece.count, y_[1]};
    dnnl::primitive_attr attributes = dnnl_user_scratchpad();
    if (piece.first > 0) {
      dnnl::post_ops add;
      add.append_sum();
      attributes.set_post_ops(add);
    }
    call_product(*this, {1, transposed(y), offset_bytes(piece, y[1])},
                 {0, dnnl_layout(x), offset_bytes(piece, x[1])}, {0, dnnl_layout({y[1], x[1]})},
                 attributes);
  }

  Shape y_;
  bool bias_;
};

// Without AVX-512, the library reads a transposed matrix in place if the result is small. Rows that
// are a multiple of 2 KiB apart meet in few sets of the caches: a product of 1024 x 640 x 256 then
// reaches 37 GFLOP/s (one core of an EPYC). Few rows stay in the caches anyway.
bool meets_in_caches(const Shape& x, const Shape& y) {
  return runs_avx2() && !runs_avx512() && x[0] > kRowGrain && y[1] % 512 == 0 && x[1] <= 512;
}

// That gradient in panels, which reach 82 GFLOP/s, and 75 with copies that the library reads. Some
// rows at a time, x is packed into panels, and each thread copies bands of columns of grad_y, which
// it multiplies by all panels. No bit depends on the number of threads.
class GradWeightPanels final : public Kernel {
 public:
  GradWeightPanels(const Shape& x, const Shape& y, bool bias) : x_(x), y_(y), bias_(bias) {
    workspace_.add_floats(panel_floats(std::min(kRows, x[0]), x[1]));
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const KernelArguments& arguments) override {
    for (std::int64_t row = 0; row < x_[0]; row += kRows) add_product(row, arguments);
    if (bias_) add_rows(arguments.input<float>(1), y_, arguments.output<float>(1));
  }

 private:
  static constexpr std::int64_t kRows = 256, kBand = 24;

  void add_product(std::int64_t first, const KernelArguments& arguments) const {
    const std::int64_t rows = std::min(kRows, x_[0] - first), in = x_[1], out = y_[1];
    const float* const x = arguments.input<float>(0) + first * in;
    auto* const packed = reinterpret_cast<float*>(arguments.workspace);
    const PanelMatrix matrix{.values = x, .row = in, .column = 1, .rows = rows, .columns = in};
    for_each_index(panel_count(in), true, [&](std::int64_t i) { pack_panel(matrix, i, packed); });
    for_each_index((out + kBand - 1) / kBand, true, [&](std::int64_t band) {
      const std::int64_t column = band * kBand, count = std::min(kBand, out - column);
      const float* const grad_y = arguments.input<float>(1) + first * out + column;
      float copy[kRows * kBand];
      for (std::int64_t k = 0; k < rows; ++k) {
        std::copy_n(grad_y + k * out, count, copy + k * kBand);
      }
      multiply_panels(in, {.left = copy,
                           .left_row = 1,
                           .left_column = kBand,
                           .right = packed,
                           .result = arguments.output<float>(0) + column * in,
                           .result_row = in,
                           .rows = count,
                           .depth = rows,
                           .adds = first > 0});
    });
  }

  Shape x_, y_;
  bool bias_;
  WorkspaceLayout workspace_;
};

}  // namespace

memory::desc transposed(const Shape& lies_as) {
  return memory::desc({lies_as[1], lies_as[0]}, memory::data_type::f32, memory::format_tag::ba);
}

void call_product(DnnlKernel& kernel, const ProductOperand& left, const ProductOperand& right,
                  const ProductOperand& result, const dnnl::primitive_attr& attributes,
                  const memory::desc* bias) {
  using Description = dnnl::matmul::desc;
  const dnnl::matmul::primitive_desc descriptor(
      bias ? Description(left.layout, right.layout, *bias, result.layout)
           : Description(left.layout, right.layout, result.layout),
      attributes, dnnl_engine());
  const auto input = [&](const ProductOperand& operand) {
    return kernel.input(operand.index, operand.layout, operand.offset_bytes);
  };
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, input(left)},
      {DNNL_ARG_WEIGHTS, input(right)},
      {DNNL_ARG_DST, kernel.output(result.index, result.layout, result.offset_bytes)}};
  if (bias) arguments[DNNL_ARG_BIAS] = kernel.input(2, *bias);
  kernel.call(descriptor, std::move(arguments));
}

std::unique_ptr<DnnlKernel> make_row_products(
    std::span<const RowRange> pieces, std::size_t parts,
    const std::function<void(DnnlKernel& kernel, const RowRange& rows)>& call) {
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->begin_whole();
  for (const RowRange& piece : pieces) call(*kernel, piece);
  if (parts == 1 || !computes_rows_alike(*kernel)) return kernel;
  for (std::size_t part = 0; part < parts; ++part) {
    kernel->begin_part();
    for (const RowRange& piece : pieces) {
      const std::vector<RowRange> shares = row_parts(piece, parts);
      if (part < shares.size()) call(*kernel, shares[part]);
    }
  }
  return computes_rows_alike(*kernel) ? std::move(kernel) : make_row_products(pieces, 1, call);
}

std::unique_ptr<Kernel> make_grad_weight_products(std::span<const RowRange> pieces, const Shape& x,
                                                  const Shape& y, bool bias) {
  if (meets_in_caches(x, y)) return std::make_unique<GradWeightPanels>(x, y, bias);
  return std::make_unique<GradWeightProducts>(pieces, x, y, bias);
}

}  // namespace skyline
