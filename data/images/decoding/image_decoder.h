#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/images/decoding/image_header.h"

namespace skyline {

struct FreePixels {
  void operator()(std::uint8_t* pixels) const noexcept;
};

// Red, green and blue of every pixel, row by row from the top.
struct DecodedPixels {
  std::unique_ptr<std::uint8_t[], FreePixels> data;
  int width = 0;
  int height = 0;
};

// Larger images are refused by their header, before anything is allocated. Decoding a progressive
// JPEG of this many pixels takes about a gigabyte.
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 26;

struct DecodedImage {
  ImageHeader header;
  DecodedPixels pixels;  // always three channels, even for grey, palette, alpha and CMYK files
};

// Decodes a JPEG (baseline or progressive; grey, YCbCr, RGB or CMYK) or any PNG. Alpha is dropped.
// Throws ImageError for whatever read_image_header refuses, for more than `most_pixels` pixels, and
// for a file that ends early or is damaged. Thread rule: any thread at any time.
DecodedImage decode_image(std::span<const std::uint8_t> file,
                          std::uint64_t most_pixels = kMostPixels);

// Reads an image file. Throws ImageError when it is missing, unreadable, not a regular file (a
// folder or a pipe) or larger than the decoder can take.
std::vector<std::uint8_t> read_image_file(const std::filesystem::path& path);

}  // namespace skyline
