// Any bytes either decode to an image of the size in their header, within the limit, or end in an
// ImageError; never in another exception, a crash or more memory than libFuzzer's limit.
#include <cstdlib>

#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kSmallImage = 1 << 14;
  try {
    const skyline::DecodedImage image = skyline::decode_image({data, size}, kSmallImage);
    const auto width = static_cast<std::uint32_t>(image.pixels.width);
    const auto height = static_cast<std::uint32_t>(image.pixels.height);
    if (width != image.header.width || height != image.header.height) std::abort();
    if (std::uint64_t{width} * height > kSmallImage) std::abort();
    unsigned sum = 0;
    for (std::size_t i = 0; i < std::size_t{3} * width * height; ++i) sum += image.pixels.data[i];
    // Summed up so that the sanitizers check every pixel.
    if (sum > 255u * 3 * kSmallImage) std::abort();
  } catch (const skyline::ImageError&) {
  }
  return 0;
}
