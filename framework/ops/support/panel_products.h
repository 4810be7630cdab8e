#pragma once

#include <cstdint>

namespace skyline {

// result = left right, or result += left right, for one panel of columns. `right` and `result` have
// whole rows of a panel.
struct PanelProduct {
  const float* left;
  std::int64_t left_row, left_column;  // floats from one to the next
  const float* right;
  std::int64_t right_row = 0;
  float* result;
  std::int64_t result_row;
  std::int64_t rows, depth;  // of left and result; columns of left
  bool adds;
};

// Products for processors of one kind. Each element is a chain of fused multiply-adds in the order
// of left's columns, so its bits depend neither on what is computed beside it nor on the processor.
struct PanelProducts {
  std::int64_t columns;  // of a panel
  std::int64_t rows;     // that are computed at a time
  void (*multiply)(const PanelProduct& product);
};

// For processors with AVX2 and FMA, and with AVX-512.
extern const PanelProducts kPanelsAvx2, kPanelsAvx512;

// Returns the fastest that this processor can run; a limit for oneDNN (ONEDNN_MAX_CPU_ISA) holds
// for them, too. Without AVX2 they are plain loops, which round each product.
const PanelProducts& panel_products();

// A matrix, and how many floats lie from one row or column to the next.
struct PanelMatrix {
  const float* values;
  std::int64_t row, column;
  std::int64_t rows, columns;
};

// Panels of panel_products() that hold so many columns, and the floats of all of them. They lie one
// after the other; what the last one has beyond the matrix is 0.
std::int64_t panel_count(std::int64_t columns);
std::int64_t panel_floats(std::int64_t rows, std::int64_t columns);
// Packs one panel of the matrix; `packed` is where the first one lies.
void pack_panel(const PanelMatrix& matrix, std::int64_t panel, float* packed);
// Packs one row of the matrix, whose columns lie side by side, into all panels.
void pack_row(const PanelMatrix& matrix, std::int64_t row, float* packed);
// Multiplies by one panel of a matrix of so many columns. The product's `right` is the first panel,
// its `result` all columns; right_row is not read.
void multiply_panel(std::int64_t panel, std::int64_t columns, PanelProduct product);
// Multiplies by all panels of the matrix.
void multiply_panels(std::int64_t columns, const PanelProduct& product);

// True if this processor runs AVX2 or AVX-512, within that limit.
bool runs_avx2();
bool runs_avx512();

}  // namespace skyline
