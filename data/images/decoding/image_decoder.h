#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/images/decoding/image_header.h"
#include "data/images/decoding/stb_decoder.h"

namespace skyline {

// Larger images are refused by their headers, before anything is allocated: about a gigabyte
// would be needed to decode a progressive JPEG of this many pixels.
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 26;

struct DecodedImage {
  ImageHeader header;
  DecodedPixels pixels;  // three channels, whatever the file has: grey, palette, alpha, CMYK
};

// Decodes a JPEG (baseline or progressive; grey, YCbCr, RGB or CMYK) or a PNG (any). Alpha is left
// out. Throws ImageError: what read_image_header refuses, more than `most_pixels` pixels, a file
// that ends early or is damaged.
DecodedImage decode_image(std::span<const std::uint8_t> file,
                          std::uint64_t most_pixels = kMostPixels);

// The bytes of an image file. Throws ImageError when it is missing, not a regular file (a folder or
// a pipe) or unreadable.
std::vector<std::uint8_t> read_image_file(const std::filesystem::path& path);

}  // namespace skyline
