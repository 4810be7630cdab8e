#include "framework/ops/recurrent/lstm_products_cpu.h"

#include <algorithm>

#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/panel_products.h"

namespace skyline {
namespace {

using dnnl::memory;

const std::byte* bytes(const float* values) { return reinterpret_cast<const std::byte*>(values); }
std::byte* bytes(float* values) { return reinterpret_cast<std::byte*>(values); }

}  // namespace

// A step of 32 sentences and 256 units reaches 92 GFLOP/s in panels and 77 by the library's
// products (one core of an EPYC without AVX-512).
PackedProduct::PackedProduct(const Options& options)
    : options_(options),
      in_panels_(!options.once && runs_avx2() && !runs_avx512()),
      plain_(options.transposed ? transposed({options.out, options.in})
                                : dnnl_layout({options.in, options.out})),
      packed_(describe(kRowGrain, dnnl_any_layout({options.in, options.out})).weights_desc()) {
  if (in_panels_) return;
  if (options.once && packed_ == dnnl_layout({options.in, options.out})) packed_ = plain_;
  const dnnl::reorder::primitive_desc reorder(dnnl_engine(), plain_, dnnl_engine(), packed_,
                                              dnnl_user_scratchpad());
  packing_.call(reorder, {{DNNL_ARG_FROM, packing_.input(0, plain_)},
                          {DNNL_ARG_TO, packing_.output(0, packed_)}});
  scratch_bytes_ = packing_.workspace_bytes();
}

dnnl::matmul::primitive_desc PackedProduct::describe(std::int64_t rows,
                                                     const memory::desc& weight) const {
  const memory::desc x = dnnl_layout({rows, options_.in}), y = dnnl_layout({rows, options_.out});
  dnnl::primitive_attr attributes = dnnl_user_scratchpad();
  if (options_.add) {
    dnnl::post_ops add;
    add.append_sum();
    attributes.set_post_ops(add);
  }
  return {{x, weight, y}, attributes, dnnl_engine()};
}

void PackedProduct::plan(std::int64_t rows) {
  if (in_panels_) return;
  for (const RowRange& piece : row_pieces(rows)) plan_piece(piece.count);
}

void PackedProduct::plan_piece(std::int64_t rows) {
  if (by_rows_.contains(rows)) return;
  const auto call = [&](DnnlKernel& kernel, const RowRange& part) {
    const auto descriptor = describe(part.count, packed_);
    kernel.call(
        descriptor,
        {{DNNL_ARG_SRC, kernel.input(0, descriptor.src_desc(), offset_bytes(part, options_.in))},
         {DNNL_ARG_WEIGHTS, kernel.input(1, packed_)},
         {DNNL_ARG_DST,
          kernel.output(0, descriptor.dst_desc(), offset_bytes(part, options_.out))}});
  };
  const RowRange all{0, rows};
  by_rows_[rows] = make_row_products({&all, 1}, options_.parts, call);
  scratch_bytes_ = std::max(scratch_bytes_, by_rows_[rows]->workspace_bytes());
}

std::int64_t PackedProduct::panels() const {
  const std::int64_t columns = panel_products().columns;
  return (options_.out + columns - 1) / columns;
}

std::size_t PackedProduct::packed_bytes() const {
  if (!in_panels_) return plain_ == packed_ ? 0 : packed_.get_size();
  return static_cast<std::size_t>(panels() * panel_products().columns * options_.in) *
         sizeof(float);
}

// Columns that the weight does not have become 0.
void PackedProduct::pack_panel(std::int64_t first, const float* weight, float* packed) const {
  const std::int64_t columns = panel_products().columns, in = options_.in;
  const std::int64_t count = std::min(columns, options_.out - first);
  for (std::int64_t k = 0; k < in; ++k) {
    float* const row = packed + k * columns;
    for (std::int64_t j = 0; j < count; ++j) {
      row[j] =
          options_.transposed ? weight[(first + j) * in + k] : weight[k * options_.out + first + j];
    }
    std::fill(row + count, row + columns, 0.0f);
  }
}

const float* PackedProduct::pack(const float* weight, std::byte* packed, std::byte* scratch) {
  if (in_panels_) {
    auto* const to = reinterpret_cast<float*>(packed);
    const std::int64_t columns = panel_products().columns;
    const bool parallel = options_.in * options_.out >= kSerialArithmetic;
    for_each_index(panels(), parallel, [&](std::int64_t panel) {
      pack_panel(panel * columns, weight, to + panel * columns * options_.in);
    });
    return to;
  }
  if (packed_bytes() == 0) return weight;
  const std::byte* inputs[] = {bytes(weight)};
  packing_.run({inputs, {&packed, 1}, scratch});
  return reinterpret_cast<const float*>(packed);
}

// Each panel is computed by one thread, so bits depend neither on threads nor on lanes.
void PackedProduct::run_panels(std::int64_t rows, const Operands& operands) const {
  constexpr std::int64_t kMostColumns = 32, kMultiplyAddsPerAddition = 8;
  const PanelProducts& products = panel_products();
  const std::int64_t columns = products.columns, in = options_.in, out = options_.out;
  const bool parallel = rows * in * out >= kMultiplyAddsPerAddition * kSerialArithmetic;
  for_each_index(panels(), parallel, [&](std::int64_t panel) {
    const std::int64_t first = panel * columns, count = std::min(columns, out - first);
    PanelProduct product{.left = operands.x,
                         .left_row = in,
                         .left_column = 1,
                         .right = operands.weight + first * in,
                         .right_row = columns,
                         .result = operands.y + first,
                         .result_row = out,
                         .rows = rows,
                         .depth = in,
                         .adds = options_.add};
    if (count == columns) return products.multiply(product);
    float sums[kMostColumns];  // the last panel has columns that y has not
    for (std::int64_t row = 0; row < rows; ++row) {
      product.left = operands.x + row * in;
      product.result = sums;
      product.rows = 1;
      product.adds = false;
      products.multiply(product);
      float* const y = operands.y + row * out + first;
      for (std::int64_t j = 0; j < count; ++j) y[j] = options_.add ? y[j] + sums[j] : sums[j];
    }
  });
}

void PackedProduct::run(std::int64_t rows, const Operands& operands, std::byte* scratch) {
  if (in_panels_) return run_panels(rows, operands);
  for (const RowRange& piece : row_pieces(rows)) {
    const std::byte* inputs[] = {bytes(operands.x + piece.first * options_.in),
                                 bytes(operands.weight)};
    std::byte* outputs[] = {bytes(operands.y + piece.first * options_.out)};
    by_rows_.at(piece.count)->run({inputs, outputs, scratch});
  }
}

std::vector<std::string> PackedProduct::implementations() const {
  std::vector<std::string> names;
  for (const auto& [rows, kernel] : by_rows_) {
    for (const std::string& name : kernel->implementations()) names.push_back(name);
  }
  return names;
}

}  // namespace skyline
