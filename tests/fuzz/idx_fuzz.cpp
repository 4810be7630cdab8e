// Any bytes, gzip'd or not, either parse as an IDX array whose dimensions match its bytes, or end
// in a DataError; never in another exception, a crash or more memory than libFuzzer's limit.
#include <cstdlib>

#include "data/host.h"
#include "data/images/idx/idx_array.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const int rank : {1, 3}) {
    try {
      skyline::ByteReader reader("fuzz", {data, data + size});
      const skyline::IdxArray array = skyline::parse_idx(reader, rank);
      std::uint64_t product = 1;
      for (const std::uint32_t dimension : array.dimensions) product *= dimension;
      if (product != array.bytes.size()) std::abort();
    } catch (const skyline::DataError&) {
    }
  }
  return 0;
}
