#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline {

// Returns the kernel of a product that call(kernel, rows) adds for some of its rows: one product
// for each piece. With several `parts`, each lane of a wide op computes some rows of each piece
// instead, if the library's implementation gives every row the same bits whatever rows are beside
// it.
std::unique_ptr<DnnlKernel> make_row_products(
    std::span<const RowRange> pieces, std::size_t parts,
    const std::function<void(DnnlKernel& kernel, const RowRange& rows)>& call);

}  // namespace skyline
