#include "data/images/decoding/image_header.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "data/images/decoding/header_reader.h"
#include "data/images/decoding/jpeg_header.h"

namespace skyline {
namespace {

using Bytes = std::span<const std::uint8_t>;
using namespace std::string_view_literals;

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n"sv;

struct Signature {
  std::string_view bytes;
  const char* format;
};
constexpr std::array kOtherFormats = {
    Signature{"GIF8"sv, "GIF"},   Signature{"BM"sv, "BMP"},     Signature{"RIFF"sv, "WebP"},
    Signature{"II*\0"sv, "TIFF"}, Signature{"MM\0*"sv, "TIFF"},
};

bool begins_with(Bytes file, std::string_view signature) {
  return file.size() >= signature.size() &&
         std::equal(signature.begin(), signature.end(), file.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

[[noreturn]] void refuse_foreign(Bytes file) {
  if (file.empty()) throw ImageError("file is empty");
  for (const Signature& other : kOtherFormats) {
    if (begins_with(file, other.bytes)) {
      throw ImageError(std::string("is a ") + other.format +
                       " file; only JPEG and PNG are supported");
    }
  }
  std::string start;
  for (const std::uint8_t byte : file.first(std::min<std::size_t>(file.size(), 4))) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), " %02x", byte);
    start += digits.data();
  }
  throw ImageError("is not an image: it begins with the bytes" + start);
}

std::string png_kind(std::uint32_t bits, std::uint32_t colour_type) {
  std::string kind = bits == 16 ? "16-bit " : "";
  if (colour_type == 0) kind += "grey ";
  if (colour_type == 3) kind += "palette ";
  if (colour_type == 4) kind += "grey and alpha ";
  if (colour_type == 6) kind += "alpha ";
  return kind + "PNG";
}

ImageHeader read_png_header(Bytes file) {
  constexpr std::uint32_t kFirstChunk = 'I' << 24 | 'H' << 16 | 'D' << 8 | 'R';
  HeaderReader reader(file, kPngSignature.size());
  if (reader.number(4) != 13 || reader.number(4) != kFirstChunk) {
    throw ImageError("is a damaged PNG: no IHDR chunk at its start");
  }
  ImageHeader header{.format = ImageFormat::kPng};
  header.width = reader.number(4);
  header.height = reader.number(4);
  const std::uint32_t bits = reader.number(1);
  header.kind = png_kind(bits, reader.number(1));
  return header;
}

}  // namespace

ImageHeader read_image_header(Bytes file) {
  const bool png = begins_with(file, kPngSignature);
  if (!png && !begins_with(file, "\xff\xd8\xff"sv)) refuse_foreign(file);
  ImageHeader header = png ? read_png_header(file) : read_jpeg_header(file);
  if (header.width == 0 || header.height == 0) {
    throw ImageError("has no pixels: its header claims " + std::to_string(header.width) + " x " +
                     std::to_string(header.height));
  }
  return header;
}

bool ends_early(Bytes file, ImageFormat format) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (format == ImageFormat::kPng) return text.find("IEND"sv) == std::string_view::npos;
  const auto scan = text.rfind("\xff\xda"sv);  // a preview before it has its own end mark
  return scan == std::string_view::npos || text.find("\xff\xd9"sv, scan) == std::string_view::npos;
}

}  // namespace skyline
