#include "data/images/decoding/image_decoder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

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
namespace {

// An upper bound of what stb_image needs: at most 51 bytes a pixel (a 16-bit interlaced PNG with
// alpha, its inflated data, and their growth by doubling), JPEG's padding to blocks of 32 x 32, the
// compressed data gathered by doubling, and its tables.
std::size_t decoding_bytes(const ImageHeader& header, std::size_t file_bytes) {
  constexpr std::size_t kBytesPerPixel = 64, kPadding = 32, kTables = std::size_t{4} << 20;
  return kBytesPerPixel * (header.width + kPadding) * (header.height + kPadding) + 4 * file_bytes +
         kTables;
}

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

std::string system_message(int error) { return std::generic_category().message(error); }

// Throws ImageError for a file of more bytes than stb_image counts. Ask before reading it.
void require_decodable_size(std::uintmax_t bytes) {
  constexpr std::uintmax_t kMost = std::numeric_limits<int>::max();
  if (bytes <= kMost) return;
  throw ImageError("is too large: it has " + std::to_string(bytes) + " bytes, at most " +
                   std::to_string(kMost) + " are supported");
}

// Decodes a JPEG or PNG file with stb_image, which may request `most_bytes` from the heap in total.
// Its memory is zeroed, so a damaged file always gives the same pixels. Throws ImageError with
// stb's reason for this file, or "damaged data" where it gives none.
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

}  // namespace

void FreePixels::operator()(std::uint8_t* pixels) const noexcept { std::free(pixels); }

DecodedImage decode_image(std::span<const std::uint8_t> file, std::uint64_t most_pixels) {
  DecodedImage image{.header = read_image_header(file)};
  const ImageHeader& header = image.header;
  if (std::uint64_t{header.width} * header.height > most_pixels) {
    throw ImageError("is too large: its header claims " + std::to_string(header.width) + " x " +
                     std::to_string(header.height) + ", at most " + std::to_string(most_pixels) +
                     " pixels are supported");
  }
  try {
    image.pixels = decode_with_stb(file, decoding_bytes(header, file.size()));
  } catch (const ImageError&) {
    if (!ends_early(file, header.format)) throw;
    throw ImageError("file ends early, after " + std::to_string(file.size()) + " bytes");
  }
  return image;
}

std::vector<std::uint8_t> read_image_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) throw ImageError("no such file");
  if (error) throw ImageError("cannot be read: " + error.message());
  // Opening a pipe would wait for its writer.
  if (!std::filesystem::is_regular_file(status)) throw ImageError("is not a file");
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) throw ImageError("cannot be read: " + system_message(errno));
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw ImageError("cannot be read: " + error.message());
  require_decodable_size(bytes);
  std::vector<std::uint8_t> contents(bytes);
  contents.resize(std::fread(contents.data(), 1, contents.size(), file.get()));
  if (std::ferror(file.get()) != 0) throw ImageError("cannot be read: " + system_message(errno));
  return contents;
}

}  // namespace skyline
