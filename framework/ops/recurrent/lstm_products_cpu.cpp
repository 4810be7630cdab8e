#include "framework/ops/recurrent/lstm_products_cpu.h"

#include <algorithm>

namespace skyline {
namespace {

using dnnl::memory;

const std::byte* bytes(const float* values) { return reinterpret_cast<const std::byte*>(values); }
std::byte* bytes(float* values) { return reinterpret_cast<std::byte*>(values); }

}  // namespace

PackedProduct::PackedProduct(const Options& options)
    : options_(options),
      plain_(options.transposed ? transposed({options.out, options.in})
                                : dnnl_layout({options.in, options.out})),
      packed_(describe(kRowGrain, dnnl_any_layout({options.in, options.out})).weights_desc()) {
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

const float* PackedProduct::pack(const float* weight, std::byte* packed, std::byte* scratch) {
  if (packed_bytes() == 0) return weight;
  const std::byte* inputs[] = {bytes(weight)};
  packing_.run({inputs, {&packed, 1}, scratch});
  return reinterpret_cast<const float*>(packed);
}

void PackedProduct::run(std::int64_t rows, const Operands& operands, std::byte* scratch) {
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
