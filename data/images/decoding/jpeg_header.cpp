#include "data/images/decoding/jpeg_header.h"

#include <algorithm>
#include <string>

#include "data/images/decoding/header_reader.h"

namespace skyline {
namespace {

using Bytes = std::span<const std::uint8_t>;

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

}  // namespace

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

}  // namespace skyline
