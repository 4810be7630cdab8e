#include "framework/ops/support/panel_products.h"

#include <algorithm>
#include <cstring>

#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/panel_loops.h"

namespace skyline {
namespace {

bool runs(dnnl::cpu_isa needed) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & static_cast<unsigned>(needed)) == static_cast<unsigned>(needed);
}

constexpr PanelProducts kPlain = PanelLoops<4, 4, 2>::products();
constexpr std::int64_t kMostColumns = 32;  // of a panel

// Returns how many columns of the matrix a panel has.
std::int64_t columns_of(std::int64_t panel, std::int64_t columns) {
  const std::int64_t whole = panel_products().columns;
  return std::min(whole, columns - panel * whole);
}

}  // namespace

bool runs_avx2() { return runs(dnnl::cpu_isa::avx2); }
bool runs_avx512() { return runs(dnnl::cpu_isa::avx512_core); }

const PanelProducts& panel_products() {
  static const PanelProducts& products = runs_avx512() ? kPanelsAvx512
                                         : runs_avx2() ? kPanelsAvx2
                                                       : kPlain;
  return products;  // asking the library takes as long as a tenth of a small product
}

std::int64_t panel_count(std::int64_t columns) {
  const std::int64_t whole = panel_products().columns;
  return (columns + whole - 1) / whole;
}

std::int64_t panel_floats(std::int64_t rows, std::int64_t columns) {
  return panel_count(columns) * panel_products().columns * rows;
}

void pack_panel(const PanelMatrix& matrix, std::int64_t panel, float* packed) {
  const std::int64_t whole = panel_products().columns, count = columns_of(panel, matrix.columns);
  const float* from = matrix.values + panel * whole * matrix.column;
  float* to = packed + panel * whole * matrix.rows;
  for (std::int64_t k = 0; k < matrix.rows; ++k, from += matrix.row, to += whole) {
    if (matrix.column == 1) {
      std::copy_n(from, count, to);
    } else {
      for (std::int64_t j = 0; j < count; ++j) to[j] = from[j * matrix.column];
    }
    std::fill(to + count, to + whole, 0.0f);
  }
}

void pack_row(const PanelMatrix& matrix, std::int64_t row, float* packed) {
  constexpr std::int64_t kPiece = 8;  // of each panel; a copy of constant size calls no function
  const std::int64_t whole = panel_products().columns;
  const float* from = matrix.values + row * matrix.row;
  float* to = packed + row * whole;
  std::int64_t left = matrix.columns;
  for (; left >= whole; left -= whole, from += whole, to += matrix.rows * whole) {
    for (std::int64_t i = 0; i < whole; i += kPiece)
      std::memcpy(to + i, from + i, kPiece * sizeof(float));
  }
  if (left == 0) return;
  std::copy_n(from, left, to);
  std::fill(to + left, to + whole, 0.0f);
}

void multiply_panels(std::int64_t columns, const PanelProduct& product) {
  for (std::int64_t panel = 0; panel < panel_count(columns); ++panel) {
    multiply_panel(panel, columns, product);
  }
}

void multiply_panel(std::int64_t panel, std::int64_t columns, PanelProduct product) {
  const PanelProducts& products = panel_products();
  const std::int64_t count = columns_of(panel, columns);
  product.right += panel * products.columns * product.depth;
  product.right_row = products.columns;
  product.result += panel * products.columns;
  if (count == products.columns) return products.multiply(product);
  float sums[kMostColumns];  // the last panel has columns that the result has not
  PanelProduct one = product;
  one.result = sums;
  one.rows = 1;
  one.adds = false;
  for (std::int64_t row = 0; row < product.rows; ++row, one.left += product.left_row) {
    products.multiply(one);
    float* const result = product.result + row * product.result_row;
    for (std::int64_t j = 0; j < count; ++j) {
      result[j] = product.adds ? result[j] + sums[j] : sums[j];
    }
  }
}

}  // namespace skyline
