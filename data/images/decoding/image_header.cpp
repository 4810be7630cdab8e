#include "data/images/decoding/image_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace skyline {
namespace {

using namespace std::string_view_literals;
using Bytes = std::span<const std::uint8_t>;

// Reads the big-endian numbers of an image file's header. Throws ImageError at the end of the file.
class HeaderReader {
 public:
  HeaderReader(Bytes file, std::size_t position) : file_(file), position_(position) {}

  std::size_t position() const noexcept { return position_; }

  std::uint32_t number(std::size_t bytes) {
    require(bytes);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | file_[position_++];
    return value;
  }
  void skip(std::size_t bytes) {
    require(bytes);
    position_ += bytes;
  }

 private:
  void require(std::size_t bytes) const {
    if (file_.size() - position_ < bytes) throw ImageError("file ends within its header");
  }

  Bytes file_;
  std::size_t position_;  // at most the file's size
};

// ITU-T T.81, table B.1.
constexpr std::uint32_t kStartOfFrame = 0xc0, kProgressive = 0xc2, kLossless = 0xc3,
                        kHuffmanTables = 0xc4, kReserved = 0xc8, kArithmeticTables = 0xcc,
                        kLastFrame = 0xcf, kFirstRestart = 0xd0, kLastRestart = 0xd7,
                        kEndOfImage = 0xd9, kStartOfScan = 0xda, kTemporary = 0x01;

bool is_frame(std::uint32_t marker) {
  return marker >= kStartOfFrame && marker <= kLastFrame && marker != kHuffmanTables &&
         marker != kReserved && marker != kArithmeticTables;
}

bool has_no_segment(std::uint32_t marker) {
  return marker == kTemporary || (marker >= kFirstRestart && marker <= kLastRestart);
}

void check_coding(std::uint32_t frame) {
  if (frame > kReserved) throw ImageError("is an arithmetic-coded JPEG, which is not supported");
  if (frame == kLossless) throw ImageError("is a lossless JPEG, which is not supported");
  if (frame > kLossless) throw ImageError("is a hierarchical JPEG, which is not supported");
}

std::string kind_of(std::uint32_t frame, std::uint32_t components) {
  std::string kind = frame == kProgressive ? "progressive " : "";
  if (components == 1) kind += "grey ";
  if (components == 4) kind += "CMYK ";
  return kind + "JPEG";
}

// Checks the tables of a segment as far as stb_image reads them. The segment's length is at
// `position`.
void check_huffman_segment(Bytes file, std::size_t position) {
  constexpr std::size_t kLengths = 16, kMostSymbols = 256;
  if (file.size() - position < 2) return;
  const std::size_t length = std::size_t{file[position]} << 8 | file[position + 1];
  const std::size_t end = std::min(position + length, file.size());
  position += 2;
  while (position < end) {
    ++position;  // the table's class and number
    std::size_t symbols = 0;
    for (std::size_t i = 0; i < kLengths && position < file.size(); ++i) {
      symbols += file[position++];
    }
    if (symbols > kMostSymbols) {
      throw ImageError("is a damaged JPEG: a Huffman table of " + std::to_string(symbols) +
                       " symbols; at most 256 are allowed");
    }
    position += symbols;
  }
}

// Checks all tables after the frame's header. Compressed data escape 0xff, so every marker there is
// a real one.
void check_huffman_tables_from(Bytes file, std::size_t position) {
  for (; position + 1 < file.size(); ++position) {
    if (file[position] == 0xff && file[position + 1] == kHuffmanTables) {
      check_huffman_segment(file, position + 2);
    }
  }
}

// Skips padding between segments, as stb_image does.
std::uint32_t next_marker(HeaderReader& reader) {
  while (reader.number(1) != 0xff) continue;
  std::uint32_t marker = 0xff;
  while (marker == 0xff) marker = reader.number(1);  // fill bytes
  return marker;
}

ImageHeader read_frame(Bytes file, HeaderReader& reader, std::uint32_t marker) {
  check_coding(marker);
  reader.skip(2);  // the segment's length
  if (const std::uint32_t bits = reader.number(1); bits != 8) {
    throw ImageError("is a JPEG of " + std::to_string(bits) + " bits; only 8 are supported");
  }
  ImageHeader header;
  header.height = reader.number(2);
  header.width = reader.number(2);
  header.kind = kind_of(marker, reader.number(1));
  check_huffman_tables_from(file, reader.position());
  return header;
}

// Reads the header of a file that begins with JPEG's first marker (FF D8). Throws ImageError as
// read_image_header does. Also checks every Huffman table of the file: stb_image 2.27 writes past
// its own table when a file claims more than 256 symbols for one.
ImageHeader read_jpeg_header(Bytes file) {
  HeaderReader reader(file, 2);
  for (;;) {
    const std::uint32_t marker = next_marker(reader);
    if (has_no_segment(marker)) continue;
    if (is_frame(marker)) return read_frame(file, reader, marker);
    if (marker == kStartOfScan || marker == kEndOfImage) {
      throw ImageError("is a damaged JPEG: no frame before its data");
    }
    if (marker == kHuffmanTables) check_huffman_segment(file, reader.position());
    const std::uint32_t length = reader.number(2);
    if (length < 2) throw ImageError("is a damaged JPEG: a segment of no length");
    reader.skip(length - 2);
  }
}

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
