#include "data/images/decoding/image_decoder.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "data/images/image_error.h"

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

}  // namespace

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
