#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline {

struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Returns how many bytes into a matrix of floats a piece of its rows begins.
inline std::size_t offset_bytes(const RowRange& piece, std::int64_t columns) {
  return static_cast<std::size_t>(piece.first * columns) * sizeof(float);
}

inline constexpr std::int64_t kRowGrain = 64;

// Splits a product of `rows` rows into one whose rows are a multiple of kRowGrain and one of the
// rest; empty pieces are left out. oneDNN compiles code for each new number of rows (0.1 to 0.6 ms
// a shape), and packed batches differ in theirs. Split, they need only some tens of shapes in all,
// which stay in oneDNN's cache.
inline std::vector<RowRange> row_pieces(std::int64_t rows) {
  const std::int64_t rest = rows % kRowGrain;
  std::vector<RowRange> pieces;
  if (rest < rows) pieces.push_back({0, rows - rest});
  if (rest > 0) pieces.push_back({rows - rest, rest});
  return pieces;
}

// Splits rows into `parts` ranges of almost equal size, or one for each row if there are fewer.
inline std::vector<RowRange> row_parts(const RowRange& rows, std::size_t parts) {
  const std::int64_t count = std::min(static_cast<std::int64_t>(parts), rows.count);
  std::vector<RowRange> ranges;
  for (std::int64_t part = 0; part < count; ++part) {
    const std::int64_t begin = part * rows.count / count, end = (part + 1) * rows.count / count;
    ranges.push_back({rows.first + begin, end - begin});
  }
  return ranges;
}

}  // namespace skyline
