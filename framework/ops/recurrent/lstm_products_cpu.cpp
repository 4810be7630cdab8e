#include "framework/ops/recurrent/lstm_products_cpu.h"

#include <algorithm>

namespace skyline {
namespace {

using dnnl::memory;

const std::byte* bytes(const float* values) { return reinterpret_cast<const std::byte*>(values); }
std::byte* bytes(float* values) { return reinterpret_cast<std::byte*>(values); }

// Describes a [columns, rows] matrix that is stored as its transpose.
memory::desc transposed_layout(std::int64_t rows, std::int64_t columns) {
  return memory::desc({columns, rows}, memory::data_type::f32, memory::format_tag::ba);
}

}  // namespace

PackedProduct::PackedProduct(const Options& options)
    : options_(options),
      packed_(describe(kRowGrain, dnnl_any_layout({options.in, options.out})).weights_desc()) {
  const memory::desc plain = options.transposed ? transposed_layout(options.out, options.in)
                                                : dnnl_layout({options.in, options.out});
  const dnnl::reorder::primitive_desc reorder(dnnl_engine(), plain, dnnl_engine(), packed_,
                                              dnnl_user_scratchpad());
  packing_.call(reorder, {{DNNL_ARG_FROM, packing_.input(0, plain)},
                          {DNNL_ARG_TO, packing_.output(0, packed_)}});
  scratch_bytes_ = packing_.workspace_bytes();
}

dnnl::matmul::primitive_desc PackedProduct::describe(std::int64_t rows,
                                                     const memory::desc& weight) const {
  const memory::desc x = dnnl_layout({rows, options_.in}), y = dnnl_layout({rows, options_.out});
  dnnl::primitive_attr attributes = dnnl_user_scratchpad();
  if (options_.result == Result::kAdd) {
    dnnl::post_ops add;
    add.append_sum();
    attributes.set_post_ops(add);
  }
  if (options_.result == Result::kAddBias) {
    return {{x, weight, dnnl_layout({1, options_.out}), y}, attributes, dnnl_engine()};
  }
  return {{x, weight, y}, attributes, dnnl_engine()};
}

void PackedProduct::plan(std::int64_t rows) {
  for (const RowRange& piece : row_pieces(rows)) plan_piece(piece.count);
}

void PackedProduct::plan_piece(std::int64_t rows) {
  if (by_rows_.contains(rows)) return;
  const auto offset_bytes = [](const RowRange& part, std::int64_t columns) {
    return static_cast<std::size_t>(part.first * columns) * sizeof(float);
  };
  const auto call = [&](DnnlKernel& kernel, const RowRange& part) {
    const auto descriptor = describe(part.count, packed_);
    std::unordered_map<int, DnnlKernel::Operand> arguments = {
        {DNNL_ARG_SRC, kernel.input(0, descriptor.src_desc(), offset_bytes(part, options_.in))},
        {DNNL_ARG_WEIGHTS, kernel.input(1, packed_)},
        {DNNL_ARG_DST, kernel.output(0, descriptor.dst_desc(), offset_bytes(part, options_.out))}};
    if (options_.result == Result::kAddBias) {
      arguments[DNNL_ARG_BIAS] = kernel.input(2, dnnl_layout({1, options_.out}));
    }
    kernel.call(descriptor, arguments);
  };
  const RowRange all{0, rows};
  by_rows_[rows] = make_row_products({&all, 1}, options_.parts, call);
  scratch_bytes_ = std::max(scratch_bytes_, by_rows_[rows]->workspace_bytes());
}

void PackedProduct::pack(const float* weight, const Workspace& workspace) {
  const std::byte* inputs[] = {bytes(weight)};
  std::byte* outputs[] = {workspace.packed};
  packing_.run({inputs, outputs, workspace.scratch});
}

void PackedProduct::run(std::int64_t rows, const Operands& operands, const Workspace& workspace) {
  for (const RowRange& piece : row_pieces(rows)) {
    const std::byte* inputs[] = {bytes(operands.x + piece.first * options_.in), workspace.packed,
                                 bytes(operands.bias)};
    std::byte* outputs[] = {bytes(operands.y + piece.first * options_.out)};
    by_rows_.at(piece.count)->run({inputs, outputs, workspace.scratch});
  }
}

std::vector<std::string> PackedProduct::implementations() const {
  std::vector<std::string> names;
  for (const auto& [rows, kernel] : by_rows_) {
    for (const std::string& name : kernel->implementations()) names.push_back(name);
  }
  return names;
}

WeightProduct::WeightProduct(std::int64_t rows, std::int64_t out, std::int64_t in) {
  const dnnl::matmul::primitive_desc descriptor(
      {transposed_layout(rows, out), dnnl_layout({rows, in}), dnnl_layout({out, in})},
      dnnl_user_scratchpad(), dnnl_engine());
  kernel_.call(descriptor, {{DNNL_ARG_SRC, kernel_.input(0, descriptor.src_desc())},
                            {DNNL_ARG_WEIGHTS, kernel_.input(1, descriptor.weights_desc())},
                            {DNNL_ARG_DST, kernel_.output(0, descriptor.dst_desc())}});
}

void WeightProduct::run(const float* grad_y, const float* x, float* grad, std::byte* scratch) {
  const std::byte* inputs[] = {bytes(grad_y), bytes(x)};
  std::byte* outputs[] = {bytes(grad)};
  kernel_.run({inputs, outputs, scratch});
}

}  // namespace skyline
