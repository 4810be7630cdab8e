#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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

// Throws ImageError for a file of more bytes than stb_image counts. Ask before reading it.
void require_decodable_size(std::uintmax_t bytes);

// Decodes a JPEG or PNG file with stb_image, which may request `most_bytes` from the heap in total.
// Its memory is zeroed, so a damaged file always gives the same pixels. Throws ImageError with
// stb's reason for this file, or "damaged data" where it gives none. Thread rule: any thread at any
// time.
DecodedPixels decode_with_stb(std::span<const std::uint8_t> file, std::size_t most_bytes);

}  // namespace skyline
