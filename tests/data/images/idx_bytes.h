#pragma once

#include <cstdint>
#include <vector>

namespace skyline {

using Bytes = std::vector<std::uint8_t>;

// The bytes of an IDX file: header (magic 0x0800 + rank, dimensions) and contents.
Bytes idx_bytes(const std::vector<std::uint32_t>& dimensions, const Bytes& contents);
Bytes gzipped(const Bytes& bytes);
Bytes joined(Bytes first, const Bytes& second);

}  // namespace skyline
