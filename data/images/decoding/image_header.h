#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace skyline {

// Why an image file cannot be used: "file ends early, …". The caller adds the file's name.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class ImageFormat { kJpeg, kPng };

// The facts that an image file states before its pixels.
struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  std::uint32_t width = 0;  // both at least 1, and as the image is seen, after its turn
  std::uint32_t height = 0;
  std::string kind;         // "JPEG", "progressive CMYK JPEG", "grey PNG", "palette PNG"
  int orientation = 1;      // of EXIF: 1 stands as it is stored; 2 to 8 are mirrored or turned
  int bits_per_pixel = 24;  // as stored, before compression
};

// Decides by the content, never by the file's name. Throws ImageError when the file is empty, is
// neither JPEG nor PNG (the message names other formats), ends within its header, has no pixels, or
// is a JPEG of an unsupported coding: arithmetic, lossless, hierarchical, or not 8 bits. The
// orientation is that of the first EXIF block that has one; a damaged block has none.
// Sources: ITU-T T.81, tables B.1 and B.2; W3C PNG, sections 11.2.2 and 11.3.4.5; JEITA CP-3451.
ImageHeader read_image_header(std::span<const std::uint8_t> file);

// Returns whether the mark that ends every file of the format is missing.
bool ends_early(std::span<const std::uint8_t> file, ImageFormat format);

}  // namespace skyline
