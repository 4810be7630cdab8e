#include "framework/ops/support/row_products_cpu.h"

#include <algorithm>
#include <string>
#include <vector>

namespace skyline {
namespace {

// Small products of blocks (AVX-512) add along a row of the left matrix in one sequence, whatever
// the number of rows is. oneDNN's other products ("gemm:jit") do not.
bool computes_rows_alike(const DnnlKernel& kernel) {
  return std::ranges::all_of(kernel.implementations(),
                             [](const std::string& name) { return name.starts_with("brg:"); });
}

}  // namespace

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

}  // namespace skyline
