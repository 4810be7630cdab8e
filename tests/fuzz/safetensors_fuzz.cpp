// Any bytes either decode to tensors, which are written back as an equal file, and converted to F32
// where they can be, or to an index of shards within their folder, or end in a SafetensorsError.
#include <cstdlib>
#include <filesystem>
#include <span>

#include "tests/train/checkpoints/host_copy.h"
#include "train/checkpoints/weight_files.h"

namespace {

void decode_index(std::string_view text) {
  try {
    for (const auto& [name, shard] : skyline::decode_weight_index(text, "index")) {
      const std::filesystem::path path =
          ("folder" / std::filesystem::path(shard)).lexically_normal();
      if (*path.begin() != "folder" || std::distance(path.begin(), path.end()) < 2) std::abort();
    }
  } catch (const skyline::SafetensorsError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skyline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  foreign_format(std::as_bytes(std::span(text)), "fuzz");
  decode_index(text);
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
      if (!converts_to_f32(tensor.dtype)) continue;
      const std::size_t bytes = host_copy(as_f32(tensor)).bytes.size();
      const std::size_t width = stored_type_bytes(tensor.dtype);
      if (bytes != host_copy(tensor).bytes.size() / width * sizeof(float)) std::abort();
    }
  } catch (const SafetensorsError&) {
  }
  return 0;
}
