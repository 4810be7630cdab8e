#pragma once

#include <cstdint>

namespace skyline {

// result = left right, or result += left right, for one panel of columns. `right` and `result` have
// whole rows of a panel.
struct PanelProduct {
  const float* left;
  std::int64_t left_row, left_column;  // floats from one to the next
  const float* right;
  std::int64_t right_row;
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

// True if this processor runs AVX2 or AVX-512, within that limit.
bool runs_avx2();
bool runs_avx512();

}  // namespace skyline
