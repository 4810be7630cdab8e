#include "data/images/decoding/stb_decoder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "data/images/image_error.h"

namespace {

// Bytes that stb_image may still request in this thread's current call. stb's allocation macros
// take no context, so it must be thread-local.
thread_local std::size_t budget_bytes = 0;
thread_local bool budget_exceeded = false;

void* take(std::size_t bytes) {
  if (bytes > budget_bytes) {
    budget_exceeded = true;
    return nullptr;
  }
  budget_bytes -= bytes;
  return std::calloc(1, bytes);
}

void* take_again(void* old, std::size_t old_bytes, std::size_t bytes) {
  void* block = take(bytes);
  if (block == nullptr) return nullptr;
  if (old != nullptr) std::memcpy(block, old, std::min(old_bytes, bytes));
  std::free(old);
  return block;
}

}  // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_MALLOC(bytes) take(bytes)
#define STBI_REALLOC_SIZED(old, old_bytes, bytes) take_again(old, old_bytes, bytes)
#define STBI_FREE(block) std::free(block)
#include <stb/stb_image.h>

namespace skyline {

void FreePixels::operator()(std::uint8_t* pixels) const noexcept { std::free(pixels); }

void require_decodable_size(std::uintmax_t bytes) {
  constexpr std::uintmax_t kMost = std::numeric_limits<int>::max();
  if (bytes <= kMost) return;
  throw ImageError("is too large: it has " + std::to_string(bytes) + " bytes, at most " +
                   std::to_string(kMost) + " are supported");
}

DecodedPixels decode_with_stb(std::span<const std::uint8_t> file, std::size_t most_bytes) {
  require_decodable_size(file.size());
  budget_bytes = most_bytes;
  budget_exceeded = false;
  stbi__g_failure_reason = nullptr;  // of this thread: an earlier file's reason would stay there
  DecodedPixels pixels;
  int channels_in_file = 0;
  pixels.data.reset(stbi_load_from_memory(file.data(), static_cast<int>(file.size()), &pixels.width,
                                          &pixels.height, &channels_in_file, 3));
  if (pixels.data != nullptr) return pixels;
  if (budget_exceeded) throw ImageError("has more data than its width and height allow");
  const char* const reason = stbi_failure_reason();  // null for a deflate block of type 3
  throw ImageError(std::string("cannot be decoded: ") +
                   (reason != nullptr ? reason : "damaged data"));
}

}  // namespace skyline
