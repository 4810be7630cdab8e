#include "data/images/decoding/image_header.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>

namespace skyline {
namespace {

using namespace std::string_view_literals;
using Bytes = std::span<const std::uint8_t>;

bool begins_with(Bytes file, std::string_view signature) {
  return file.size() >= signature.size() &&
         std::equal(signature.begin(), signature.end(), file.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

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
                        kEndOfImage = 0xd9, kStartOfScan = 0xda, kExifMarker = 0xe1,
                        kTemporary = 0x01;

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

// The numbers of an EXIF block, which is a TIFF file of either byte order.
class ExifReader {
 public:
  explicit ExifReader(Bytes tiff) : tiff_(tiff), big_(!tiff.empty() && tiff[0] == 'M') {}

  // Returns the number of two or four bytes at `position`; 0 behind the block's end.
  std::uint32_t number(std::size_t position, std::size_t bytes) const {
    if (position > tiff_.size() || tiff_.size() - position < bytes) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value = value << 8 | tiff_[position + (big_ ? i : bytes - 1 - i)];
    }
    return value;
  }

 private:
  Bytes tiff_;
  bool big_;
};

// Returns the orientation in the first directory of an EXIF block; 0 if it has none. The directory
// of a thumbnail is another.
int exif_orientation(Bytes tiff) {
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;
  constexpr std::size_t kEntryBytes = 12;
  const ExifReader reader(tiff);
  if (!begins_with(tiff, "II*\0"sv) && !begins_with(tiff, "MM\0*"sv)) return 0;
  const std::size_t directory = reader.number(4, 4);
  const std::size_t entries = reader.number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) return 0;
    if (reader.number(entry, 2) != kOrientation) continue;
    const std::uint32_t type = reader.number(entry + 2, 2);
    if (type != kShort && type != kLong) return 0;
    const std::uint32_t value = reader.number(entry + 8, type == kShort ? 2 : 4);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 0;
  }
  return 0;
}

// Skips bytes between segments, as libjpeg does.
std::uint32_t next_marker(HeaderReader& reader) {
  std::uint32_t marker = 0;
  while (marker == 0) {  // FF 00 is data, not a marker
    while (reader.number(1) != 0xff) continue;
    do marker = reader.number(1);
    while (marker == 0xff);  // fill bytes
  }
  return marker;
}

// `reader` stands before the frame's segment, and its copy here moves on alone.
void read_frame(HeaderReader reader, std::uint32_t marker, ImageHeader& header) {
  check_coding(marker);
  reader.skip(2);  // the segment's length
  if (const std::uint32_t bits = reader.number(1); bits != 8) {
    throw ImageError("is a JPEG of " + std::to_string(bits) + " bits; only 8 are supported");
  }
  header.height = reader.number(2);
  header.width = reader.number(2);
  header.kind = kind_of(marker, reader.number(1));
}

// Reads the segments of a JPEG up to its data into `header`. Throws ImageError as
// read_image_header does.
void read_segments(Bytes file, ImageHeader& header) {
  constexpr std::string_view kExif = "Exif\0\0"sv;
  HeaderReader reader(file, 2);
  bool has_orientation = false;
  for (;;) {
    const std::uint32_t marker = next_marker(reader);
    if (has_no_segment(marker)) continue;
    if (marker == kStartOfScan || marker == kEndOfImage) break;
    if (is_frame(marker) && header.kind.empty()) read_frame(reader, marker, header);
    const std::size_t begin = reader.position() + 2;
    const std::uint32_t length = reader.number(2);
    if (length < 2) throw ImageError("is a damaged JPEG: a segment of no length");
    reader.skip(length - 2);
    const Bytes segment = file.subspan(begin, length - 2);
    if (marker != kExifMarker || has_orientation || !begins_with(segment, kExif)) continue;
    const int orientation = exif_orientation(segment.subspan(kExif.size()));
    has_orientation = orientation != 0;
    if (has_orientation) header.orientation = orientation;
  }
  if (header.kind.empty()) throw ImageError("is a damaged JPEG: no frame before its data");
}

// Reads the header of a file that begins with JPEG's first marker (FF D8). The decoder reports
// damage behind the frame.
ImageHeader read_jpeg_header(Bytes file) {
  ImageHeader header;
  try {
    read_segments(file, header);
  } catch (const ImageError&) {
    if (header.kind.empty()) throw;
  }
  return header;
}

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n"sv;

// A format by its bytes at a place.
struct Signature {
  std::size_t position;
  std::string_view bytes;
  const char* name;
  bool image = true;
};
constexpr std::array kOtherFormats = {
    Signature{0, "GIF8"sv, "a GIF"},
    Signature{0, "BM"sv, "a BMP"},
    Signature{8, "WEBP"sv, "a WebP"},
    Signature{0, "II*\0"sv, "a TIFF"},
    Signature{0, "MM\0*"sv, "a TIFF"},
    Signature{0, "II+\0"sv, "a TIFF"},
    Signature{0, "MM\0+"sv, "a TIFF"},
    Signature{4, "ftypavi"sv, "an AVIF"},
    Signature{4, "ftyphe"sv, "a HEIC"},
    Signature{4, "ftypmif1"sv, "a HEIC"},
    Signature{4, "ftypmsf1"sv, "a HEIC"},
    Signature{4, "jP  \r\n\x87\n"sv, "a JPEG 2000"},
    Signature{0, "\xff\x4f\xff\x51"sv, "a JPEG 2000"},
    Signature{4, "JXL \r\n\x87\n"sv, "a JPEG XL"},
    Signature{0, "\xff\x0a"sv, "a JPEG XL"},
    Signature{0, "II\xbc\x01"sv, "a JPEG XR"},
    Signature{0, "8BPS"sv, "a Photoshop (PSD)"},
    Signature{0, "\0\0\1\0"sv, "an ICO"},
    Signature{0, "\0\0\2\0"sv, "a CUR"},
    Signature{0, "v/1\x01"sv, "an OpenEXR"},
    Signature{0, "#?RADIANCE"sv, "a Radiance (HDR)"},
    Signature{0, "qoif"sv, "a QOI"},
    Signature{0, "<svg"sv, "an SVG"},
    Signature{0, "%PDF"sv, "a PDF"},
    Signature{0, "%!PS"sv, "a PostScript"},
    Signature{8, "WAVE"sv, "a WAV", false},
    Signature{8, "AVI "sv, "an AVI", false},
    Signature{0, "RIFF"sv, "a RIFF", false},
    Signature{4, "ftypcrx"sv, "a CR3"},
    Signature{4, "ftyp"sv, "a video (MP4)", false},
    Signature{0, "\x1a\x45\xdf\xa3"sv, "a Matroska", false},
    Signature{0, "\x1f\x8b"sv, "a gzip", false},
    Signature{0, "PK\3\4"sv, "a ZIP", false},
    Signature{0, "version https://git-lfs"sv, "a git-lfs pointer", false},
};

// Returns the format of a text that tells it late: an SVG behind comments, or a page of HTML, which
// is what a failed download leaves. Null if it is none.
const Signature* format_of_text(Bytes file) {
  static constexpr std::size_t kLooked = 1024;
  static constexpr Signature kSvg{0, {}, "an SVG"}, kHtml{0, {}, "an HTML", false};
  std::string start;
  for (const std::uint8_t byte : file.first(std::min(file.size(), kLooked))) {
    start += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
  }
  const auto first = start.find_first_not_of("\xef\xbb\xbf \t\r\n");
  if (first == std::string::npos || start[first] != '<') return nullptr;
  if (start.find("<svg") != std::string::npos) return &kSvg;
  return start.find("<html") != std::string::npos ||
                 start.find("<!doctype html") != std::string::npos
             ? &kHtml
             : nullptr;
}

// Returns the format of what is neither JPEG nor PNG; null if it is unknown.
const Signature* other_format(Bytes file) {
  const bool riff = begins_with(file, "RIFF"sv);
  for (const Signature& other : kOtherFormats) {
    if (other.position > file.size() || (other.position == 8 && !riff)) continue;
    if (begins_with(file.subspan(other.position), other.bytes)) return &other;
  }
  static constexpr Signature kPnm{0, {}, "a PNM"};
  const bool pnm = file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '7' &&
                   (file[2] == '#' || file[2] == ' ' || (file[2] >= '\t' && file[2] <= '\r'));
  return pnm ? &kPnm : format_of_text(file);
}

[[noreturn]] void refuse_foreign(Bytes file) {
  if (file.empty()) throw ImageError("file is empty");
  if (const Signature* other = other_format(file)) {
    const std::string name = std::string("is ") + other->name + " file";
    if (!other->image) throw ImageError(name + ", no image");
    throw ImageError(name +
                     "; only JPEG and PNG are supported (ImageMagick converts it: magick FILE "
                     "FILE.png)");
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

// Returns the orientation of the first sound eXIf chunk; 0 if there is none. Chunks are a length, a
// type, the content and a checksum of type and content.
int png_orientation(Bytes file) {
  constexpr std::size_t kFrameBytes = 12;
  Bytes rest = file.subspan(kPngSignature.size());
  while (rest.size() >= kFrameBytes) {
    const std::size_t length = HeaderReader(rest, 0).number(4);
    if (length > rest.size() - kFrameBytes) return 0;
    const Bytes summed = rest.subspan(4, 4 + length);
    if (begins_with(summed, "IEND"sv)) return 0;
    if (begins_with(summed, "eXIf"sv) &&
        crc32(0, summed.data(), static_cast<uInt>(summed.size())) ==
            HeaderReader(rest, 8 + length).number(4)) {
      if (const int orientation = exif_orientation(summed.subspan(4))) return orientation;
    }
    rest = rest.subspan(kFrameBytes + length);
  }
  return 0;
}

ImageHeader read_png_header(Bytes file) {
  constexpr std::uint32_t kFirstChunk = 'I' << 24 | 'H' << 16 | 'D' << 8 | 'R';
  constexpr std::array<int, 8> kSamples = {1, 1, 3, 1, 2, 1, 4, 1};  // by colour type
  HeaderReader reader(file, kPngSignature.size());
  if (reader.number(4) != 13 || reader.number(4) != kFirstChunk) {
    throw ImageError("is a damaged PNG: no IHDR chunk at its start");
  }
  ImageHeader header{.format = ImageFormat::kPng};
  header.width = reader.number(4);
  header.height = reader.number(4);
  const std::uint32_t bits = reader.number(1), colour = reader.number(1);
  header.kind = png_kind(bits, colour);
  header.bits_per_pixel = static_cast<int>(bits) * kSamples[colour % kSamples.size()];
  if (const int orientation = png_orientation(file)) header.orientation = orientation;
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
  if (header.orientation > 4) std::swap(header.width, header.height);
  return header;
}

bool ends_early(Bytes file, ImageFormat format) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (format == ImageFormat::kPng) return text.find("IEND"sv) == std::string_view::npos;
  const auto scan = text.rfind("\xff\xda"sv);  // a preview before it has its own end mark
  return scan == std::string_view::npos || text.find("\xff\xd9"sv, scan) == std::string_view::npos;
}

}  // namespace skyline
