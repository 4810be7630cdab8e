#pragma once

#include "framework/ops/support/panel_products.h"

// Included by one source for each kind of processor, which is compiled for it alone. So nothing
// here may be emitted twice: templates have the vector's width as a parameter, and no library is
// used.

namespace skyline {

template <int kWidth>
struct FloatVector {
  typedef float Type __attribute__((vector_size(kWidth * sizeof(float))));
  typedef float Unaligned
      __attribute__((vector_size(kWidth * sizeof(float)), aligned(sizeof(float)), may_alias));
};

// kWidth floats are a vector, kVectors of them a panel. A product keeps kRows x kVectors vectors in
// registers.
template <int kWidth, int kRows, int kVectors>
class PanelLoops {
  using Index = std::int64_t;

 public:
  static constexpr PanelProducts products() {
    return {.columns = kWidth * kVectors, .rows = kRows, .multiply = multiply};
  }
  // Rows are split evenly: 32 rows 6 at a time would leave 2, whose sums wait for one another.
  static void multiply(const PanelProduct& product) {
    const Index parts = (product.rows + kRows - 1) / kRows;
    for (Index part = 0; part < parts; ++part) {
      const Index first = part * product.rows / parts;
      multiply_some<kRows>(product, first, (part + 1) * product.rows / parts - first);
    }
  }

 private:
  using Vector = typename FloatVector<kWidth>::Type;
  using Unaligned = typename FloatVector<kWidth>::Unaligned;

  [[gnu::always_inline]] static Vector load(const float* from) {
    return *reinterpret_cast<const Unaligned*>(from);
  }

  // Fetches the old result, so that it is at hand when the sums are added to it.
  template <int kCount>
  [[gnu::always_inline]] static void prefetch(const float* result, Index result_row) {
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        __builtin_prefetch(result + r * result_row + v * kWidth, 1);
      }
    }
  }

  // Computes some rows of a product; each element is a chain of fused multiply-adds in the order of
  // `left`'s columns, whatever rows are beside it.
  template <int kCount>
  [[gnu::always_inline]] static void multiply_rows(const PanelProduct& product, Index row) {
    const float* const left = product.left + row * product.left_row;
    float* const result = product.result + row * product.result_row;
    if (product.adds) prefetch<kCount>(result, product.result_row);
    Vector sums[kCount][kVectors] = {};
    for (Index k = 0; k < product.depth; ++k) {
      Vector right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        right[v] = load(product.right + k * product.right_row + v * kWidth);
      }
#pragma GCC unroll 12
      for (int r = 0; r < kCount; ++r) {
        const Vector factor = left[r * product.left_row + k * product.left_column] - Vector{};
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * right[v];
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        float* const at = result + r * product.result_row + v * kWidth;
        *reinterpret_cast<Unaligned*>(at) = product.adds ? load(at) + sums[r][v] : sums[r][v];
      }
    }
  }

  // Computes at most kCount rows.
  template <int kCount>
  [[gnu::always_inline]] static void multiply_some(const PanelProduct& product, Index row,
                                                   Index count) {
    if (count == kCount) return multiply_rows<kCount>(product, row);
    if constexpr (kCount > 1) multiply_some<kCount - 1>(product, row, count);
  }
};

}  // namespace skyline
