#include "framework/ops/support/row_products_cpu.h"

#include <algorithm>
#include <optional>
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

// Without AVX-512, the library reads a transposed matrix in place if the result is small. Rows that
// are a multiple of 2 KiB apart meet in few sets of the caches: a product of 1024 x 640 x 256 then
// reaches 37 GFLOP/s instead of 85 (one core of an EPYC). Few rows stay in the caches anyway.
bool meets_in_caches(const Shape& x, const Shape& y) {
  return !runs_avx512() && x[0] > kRowGrain && y[1] % 512 == 0 && x[1] <= 512;
}

class GradWeightProducts final : public DnnlKernel {
 public:
  GradWeightProducts(std::span<const RowRange> pieces, const Shape& x, const Shape& y, bool bias)
      : y_(y), bias_(bias), spreads_(meets_in_caches(x, y)) {
    for (const RowRange& piece : pieces) {
      const std::int64_t most =
          spreads_ ? std::max(kSpreadRows, piece.count / kMostCopies + 1) : piece.count;
      for (std::int64_t row = 0; row < piece.count; row += most) {
        add_product({piece.first + row, std::min(most, piece.count - row)}, x[1]);
      }
    }
  }

  void run(const KernelArguments& arguments) override {
    DnnlKernel::run(arguments);
    if (bias_) add_rows(arguments.input<float>(1), y_, arguments.output<float>(1));
  }

 private:
  // Rows that are copied at a time, a cache line further apart, and floats of such a line. Dry runs
  // that look for the largest batch make kernels of millions of rows: these have few products, too.
  static constexpr std::int64_t kSpreadRows = 256, kMostCopies = 32, kLine = 16;

  // Copies transposed rows. The first call has the most.
  Operand spread(Operand rows, const memory::desc& layout, const memory::desc& spread_layout) {
    copy_ = copy_ ? scratch_again(*copy_, spread_layout) : scratch(spread_layout);
    call(dnnl::reorder::primitive_desc(dnnl_engine(), layout, dnnl_engine(), spread_layout,
                                       dnnl_user_scratchpad()),
         {{DNNL_ARG_FROM, rows}, {DNNL_ARG_TO, *copy_}});
    return *copy_;
  }

  // The product of these rows is the gradient, or is added to it if it is not the first piece.
  void add_product(const RowRange& piece, std::int64_t features) {
    const Shape x{piece.count, features}, y{piece.count, y_[1]};
    dnnl::primitive_attr attributes = dnnl_user_scratchpad();
    if (piece.first > 0) {
      dnnl::post_ops add;
      add.append_sum();
      attributes.set_post_ops(add);
    }
    const Operand stored = input(1, transposed(y), offset_bytes(piece, y[1]));
    const memory::desc left =
        spreads_ ? memory::desc({y[1], y[0]}, memory::data_type::f32, {1, y[1] + kLine})
                 : transposed(y);
    const dnnl::matmul::primitive_desc descriptor({left, dnnl_layout(x), dnnl_layout({y[1], x[1]})},
                                                  attributes, dnnl_engine());
    call(descriptor,
         {{DNNL_ARG_SRC, spreads_ ? spread(stored, transposed(y), left) : stored},
          {DNNL_ARG_WEIGHTS, input(0, descriptor.weights_desc(), offset_bytes(piece, x[1]))},
          {DNNL_ARG_DST, output(0, descriptor.dst_desc())}});
  }

  Shape y_;
  bool bias_, spreads_;
  std::optional<Operand> copy_;
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

std::unique_ptr<DnnlKernel> make_grad_weight_products(std::span<const RowRange> pieces,
                                                      const Shape& x, const Shape& y, bool bias) {
  return std::make_unique<GradWeightProducts>(pieces, x, y, bias);
}

}  // namespace skyline
