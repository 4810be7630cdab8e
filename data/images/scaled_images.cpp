#include "data/images/scaled_images.h"

#include <algorithm>
#include <utility>

#include "data/errors.h"
#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_resize.h"
#include "data/images/image_error.h"

namespace skyline {
namespace {

constexpr int kColours = 3;

// The grey level of a pixel; exactly its level if red, green and blue are equal.
float grey(const float* pixel) {
  if (pixel[0] == pixel[1] && pixel[1] == pixel[2]) return pixel[0];
  return 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

}  // namespace

ScaledImages::ScaledImages(std::shared_ptr<const ImageCollection> collection, ImageShape shape,
                           const Normalisation& normalisation,
                           std::shared_ptr<BadImages> bad_images, std::shared_ptr<BadImages> scaled)
    : collection_(std::move(collection)),
      shape_(shape),
      normalisation_(normalisation),
      bad_images_(std::move(bad_images)),
      scaled_(std::move(scaled)) {
  if (shape.channels == 1 || shape.channels == kColours) return;
  throw DataError(name(), "channels of the network's input", std::to_string(shape.channels),
                  "1 or 3, which image files can fill");
}

void ScaledImages::read(const Sample& sample, float* image, std::int32_t* label) const {
  const std::string path = collection_->test.path(sample.index);
  try {
    read_levels(path, image);
    std::transform(image, image + shape_.elements(), image, normalisation_);
    *label = collection_->test.files[sample.index].label;
  } catch (const ImageError& error) {
    bad_images_->add(path, error.what());
    std::fill_n(image, shape_.elements(), 0.0f);
    *label = kNotCounted;
  }
}

void ScaledImages::read_levels(const std::string& path, float* image) const {
  const DecodedImage decoded = decode_image(read_image_file(path));
  const DecodedPixels& pixels = decoded.pixels;
  if (pixels.width != shape_.width || pixels.height != shape_.height) {
    scaled_->add(path, std::to_string(pixels.width) + " x " + std::to_string(pixels.height));
  }
  std::vector<float> colours(static_cast<std::size_t>(shape_.height) *
                             static_cast<std::size_t>(shape_.width) * kColours);
  scale(pixels.data.get(), pixels.width, pixels.height, shape_.width, shape_.height,
        colours.data());
  if (shape_.channels == kColours) {
    std::ranges::copy(colours, image);
    return;
  }
  for (std::size_t i = 0; i < colours.size(); i += kColours) *image++ = grey(&colours[i]);
}

}  // namespace skyline
