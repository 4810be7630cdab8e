#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline {

// Describes a [rows, columns] matrix that is stored as its transpose, `lies_as`.
dnnl::memory::desc transposed(const Shape& lies_as);

// Returns the kernel of a product that call(kernel, rows) adds for some of its rows: one product
// for each piece. With several `parts`, each lane of a wide op computes some rows of each piece
// instead, if the library's implementation gives every row the same bits whatever rows are beside
// it.
std::unique_ptr<DnnlKernel> make_row_products(
    std::span<const RowRange> pieces, std::size_t parts,
    const std::function<void(DnnlKernel& kernel, const RowRange& rows)>& call);

// Returns the kernel of the gradient of a weight [O, F] that multiplies the rows of x [N, F] to
// those of y [N, O]: the sum of one product for each piece of the rows, or of panels. Inputs x,
// grad_y; outputs grad_weight and, with `bias`, grad_bias [O], the sum of the rows of grad_y.
std::unique_ptr<Kernel> make_grad_weight_products(std::span<const RowRange> pieces, const Shape& x,
                                                  const Shape& y, bool bias);

// An input or the output of the op, by number, from `offset_bytes` on.
struct ProductOperand {
  std::size_t index;
  dnnl::memory::desc layout;
  std::size_t offset_bytes = 0;
};

// Calls the product of two operands, plus `bias`, input 2, unless it is null.
void call_product(DnnlKernel& kernel, const ProductOperand& left, const ProductOperand& right,
                  const ProductOperand& result, const dnnl::primitive_attr& attributes,
                  const dnnl::memory::desc* bias = nullptr);

}  // namespace skyline
