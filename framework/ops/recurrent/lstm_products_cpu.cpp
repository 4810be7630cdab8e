#include "framework/ops/recurrent/lstm_products_cpu.h"

#include <algorithm>

#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/panel_products.h"

namespace skyline {
namespace {

using dnnl::memory;

const std::byte* bytes(const float* values) { return reinterpret_cast<const std::byte*>(values); }
std::byte* bytes(float* values) { return reinterpret_cast<std::byte*>(values); }

// A step of 32 sentences and 256 units reaches 92 GFLOP/s in panels and 77 by the library's
// products (one core of an EPYC without AVX-512). One product of 640 x 256 x 1024 takes 1.9 ms on
// two cores, packing included, and 2.8 by the library; of 64 rows 0.48 and 0.39, of 640 x 512 x
// 2048 10.2 and 9.2.
bool runs_in_panels(const PackedProduct::Options& options) {
  constexpr std::int64_t kFewRows = 256, kLargeWeight = std::int64_t{1} << 20;
  if (!runs_avx2() || runs_avx512()) return false;
  if (options.once_rows == 0) return true;
  return options.once_rows >= kFewRows && options.in * options.out < kLargeWeight;
}

}  // namespace

PackedProduct::PackedProduct(const Options& options)
    : options_(options),
      in_panels_(runs_in_panels(options)),
      plain_(options.transposed ? transposed({options.out, options.in})
                                : dnnl_layout({options.in, options.out})),
      packed_(describe(kRowGrain, dnnl_any_layout({options.in, options.out})).weights_desc()) {
  if (in_panels_) return;
  const bool transposes = options.transposed && packed_ != dnnl_layout({options.in, options.out});
  if (options.once_rows > 0 && !transposes) packed_ = plain_;
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

std::size_t PackedProduct::packed_bytes() const {
  if (!in_panels_) return plain_ == packed_ ? 0 : packed_.get_size();
  return static_cast<std::size_t>(panel_floats(options_.in, options_.out)) * sizeof(float);
}

const float* PackedProduct::pack(const float* weight, std::byte* packed, std::byte* scratch) {
  if (in_panels_) {
    auto* const to = reinterpret_cast<float*>(packed);
    const std::int64_t in = options_.in, out = options_.out;
    const PanelMatrix matrix{.values = weight,
                             .row = options_.transposed ? 1 : out,
                             .column = options_.transposed ? in : 1,
                             .rows = in,
                             .columns = out};
    for_each_index(panel_count(out), in * out >= kSerialArithmetic,
                   [&](std::int64_t panel) { pack_panel(matrix, panel, to); });
    return to;
  }
  if (packed_bytes() == 0) return weight;
  const std::byte* inputs[] = {bytes(weight)};
  packing_.run({inputs, {&packed, 1}, scratch});
  return reinterpret_cast<const float*>(packed);
}

// Each panel is computed by one thread, so bits depend neither on threads nor on lanes. Some rows
// of x stay in the cache while all its panels are multiplied.
void PackedProduct::run_panels(std::int64_t rows, const Operands& operands) const {
  constexpr std::int64_t kBlockRows = 96, kMultiplyAddsPerAddition = 8;
  const std::int64_t in = options_.in, out = options_.out;
  const bool parallel = rows * in * out >= kMultiplyAddsPerAddition * kSerialArithmetic;
  for_each_range(panel_count(out), parallel, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < rows; row += kBlockRows) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        multiply_panel(panel, out,
                       {.left = operands.x + row * in,
                        .left_row = in,
                        .left_column = 1,
                        .right = operands.weight,
                        .result = operands.y + row * out,
                        .result_row = out,
                        .rows = std::min(kBlockRows, rows - row),
                        .depth = in,
                        .adds = options_.add});
      }
    }
  });
}

void PackedProduct::run(std::int64_t rows, const Operands& operands, const RowTurns& turns) const {
  const std::int64_t in = options_.in, out = options_.out;
  for (std::int64_t panel = 0; panel < panel_count(out); ++panel) {
    multiply_panel(panel, out,
                   {.left = operands.x + turns.first * in,
                    .left_row = turns.step * in,
                    .left_column = 1,
                    .right = operands.weight,
                    .result = operands.y + turns.first * out,
                    .result_row = turns.step * out,
                    .rows = turns.count(rows),
                    .depth = in,
                    .adds = options_.add});
  }
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
