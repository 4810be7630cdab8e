// Any bytes either decode to tensors, which are written back as an equal file, or end in a
// SafetensorsError.
#include <cstdlib>
#include <span>

#include "tests/train/checkpoints/host_copy.h"
#include "train/checkpoints/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skyline;
  try {
    const Safetensors decoded = decode_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
    const SafetensorsLayout layout = safetensors_layout(decoded.tensors, decoded.metadata);
    std::string content = layout.head;
    for (const std::size_t i : layout.order) {
      const std::vector<std::byte> bytes = host_copy(decoded.tensors[i]).bytes;
      content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    const auto again = decode_safetensors(std::as_bytes(std::span(content)), "again");
    if (again.metadata != decoded.metadata) std::abort();
    for (const StoredTensor& tensor : decoded.tensors) {
      const StoredTensor* found = again.find(tensor.name);
      if (found == nullptr || host_copy(*found) != host_copy(tensor)) std::abort();
    }
  } catch (const SafetensorsError&) {
  }
  return 0;
}
