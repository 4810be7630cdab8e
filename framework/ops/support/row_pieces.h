#pragma once

#include <cstdint>
#include <vector>

#include "framework/ops/array/rows_kernels.h"

namespace skyline {

inline constexpr std::int64_t kRowGrain = 64;

// A product of so many rows as a product of a multiple of kRowGrain rows and one of the rest,
// whichever of them are not empty. oneDNN compiles code for each number of rows that it has not met
// (0.1 to 0.6 ms a shape), and a packed batch has another number each time; so it meets some tens
// in all, which stay in its cache.
inline std::vector<RowRange> row_pieces(std::int64_t rows) {
  const std::int64_t rest = rows % kRowGrain;
  std::vector<RowRange> pieces;
  if (rest < rows) pieces.push_back({0, rows - rest});
  if (rest > 0) pieces.push_back({rows - rest, rest});
  return pieces;
}

}  // namespace skyline
