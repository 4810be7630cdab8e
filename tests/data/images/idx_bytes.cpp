#include "tests/data/images/idx_bytes.h"

#include <zlib.h>

#include <stdexcept>

namespace skyline {

Bytes idx_bytes(const std::vector<std::uint32_t>& dimensions, const Bytes& contents) {
  Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(dimension >> shift));
    }
  }
  return joined(bytes, contents);
}

Bytes gzipped(const Bytes& bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16, kMemoryLevel = 8;
  if (deflateInit2(&stream, 9, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2 failed");
  }
  Bytes out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return out;
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace skyline
