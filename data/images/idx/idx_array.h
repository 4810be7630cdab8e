#pragma once

#include <cstdint>
#include <vector>

#include "data/byte_reader.h"

namespace skyline {

// The content of an IDX file of unsigned bytes (type 0x08), the first dimension outermost.
struct IdxArray {
  std::vector<std::uint32_t> dimensions;
  std::vector<std::uint8_t> bytes;

  // The whole file, not compressed: the header and the bytes.
  std::vector<std::uint8_t> file() const;
};

// Parses an IDX file of `rank` dimensions: two zero bytes, the type, the rank, the dimensions as
// big-endian 32-bit numbers, the bytes. Memory grows with the bytes that arrive, not with the
// dimensions that the file claims. Throws DataError when the magic number, type or rank differs, a
// dimension is 0, the bytes end early, more bytes follow, or the array would exceed 2 GiB.
// Source: LeCun, Cortes, Burges, "The MNIST database", section "The IDX file format".
IdxArray parse_idx(ByteReader& reader, int rank);

}  // namespace skyline
