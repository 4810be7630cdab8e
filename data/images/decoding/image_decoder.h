#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/images/decoding/image_header.h"

namespace skyline {

// Red, green and blue of every pixel, row by row from the top.
struct DecodedPixels {
  std::unique_ptr<std::uint8_t[]> data;
  int width = 0;
  int height = 0;
};

// Larger images are refused by their header, before anything is allocated: telephones make 108
// megapixels, and some 200. They take three bytes a pixel, twice that if EXIF turns them.
inline constexpr std::uint64_t kMostPixels = 200'000'000;

struct DecodedImage {
  ImageHeader header;
  DecodedPixels pixels;  // always three channels, even for grey, palette, alpha and CMYK files
};

// Decodes a JPEG (baseline or progressive; grey, YCbCr, RGB or CMYK) or any PNG, and turns it as
// its EXIF orientation says. Alpha is dropped; 16 bits become the upper 8. A progressive JPEG holds
// all its coefficients, at most 1 GB; its scans may not cost more work than its bytes justify.
// Throws ImageError for whatever read_image_header refuses, for more than `most_pixels` pixels, and
// for a file that ends early, is damaged or too small for its pixels. Thread rule: any thread at
// any time.
DecodedImage decode_image(std::span<const std::uint8_t> file,
                          std::uint64_t most_pixels = kMostPixels);

// Reads a small or an image file whole. Throws ImageError when it is missing, unreadable, not a
// regular file (a folder or a pipe), or larger than 1 GiB, which is asked before it is read.
std::vector<std::uint8_t> read_image_file(const std::filesystem::path& path);

}  // namespace skyline
