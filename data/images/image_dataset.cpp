#include "data/images/image_dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/images/augmentation.h"
#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_header.h"

namespace skyline {
namespace {

constexpr int kChannels = 3;
constexpr float kScale = 1.0f / 255;

// Reverses each row of an image of size × size pixels.
void mirror(float* image, int size) {
  for (int y = 0; y < size; ++y, image += size * kChannels) {
    for (int left = 0, right = size - 1; left < right; ++left, --right) {
      std::swap_ranges(image + left * kChannels, image + (left + 1) * kChannels,
                       image + right * kChannels);
    }
  }
}

// The grey level of a pixel; exactly its level if red, green and blue are equal.
float grey(const float* pixel) {
  if (pixel[0] == pixel[1] && pixel[1] == pixel[2]) return pixel[0];
  return 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

}  // namespace

int side_for(int insize) {
  constexpr int kAlexNet = 227;  // uses the images prepared for 224
  if (insize == kAlexNet) return 256;
  return static_cast<int>(std::lround(insize * 256.0 / 224.0));
}

ImageDataset::ImageDataset(std::shared_ptr<const ImageCollection> collection, Split split,
                           const ImagePipeline& pipeline, BadImagePolicy policy, RandomBits random,
                           std::shared_ptr<BadImages> bad_images)
    : collection_(std::move(collection)),
      split_(split),
      files_(collection_->files(split)),
      pipeline_(pipeline),
      policy_(policy),
      random_(std::move(random)),
      bad_images_(std::move(bad_images)) {
  if (pipeline.insize < 1 || pipeline.insize > pipeline.side) {
    throw DataError(name(), "crop size", std::to_string(pipeline.insize),
                    "1 to " + std::to_string(pipeline.side) + ", the size of the scaled images");
  }
  for (int i = 0; i < pipeline.insize * kChannels; ++i) {
    const auto& [mean, deviation] = pipeline.normalisation[static_cast<std::size_t>(i % kChannels)];
    row_means_.push_back(static_cast<float>(255 * mean));
    row_scales_.push_back(kScale / static_cast<float>(deviation));
  }
}

void ImageDataset::set_mean(std::shared_ptr<const MeanImage> mean) {
  if (mean != nullptr && mean->side != pipeline_.side) {
    throw DataError(name(), "side of the mean image", std::to_string(mean->side),
                    std::to_string(pipeline_.side));
  }
  mean_ = std::move(mean);
}

void ImageDataset::read(const Sample& sample, float* image, std::int32_t* label) const {
  const Crop crop = crop_of(sample);
  const std::size_t candidates = split_ == Split::kTrain ? size() : 1;
  for (std::size_t offset = 0; offset < candidates; ++offset) {
    const std::size_t index = (sample.index + offset) % size();
    if (!read_cropped(index, crop, image)) continue;
    normalise(crop, image);
    *label = files_.files[index].label;
    return;
  }
  if (split_ == Split::kTrain) {
    throw DataError(name(), "none of the " + std::to_string(size()) + " images can be read");
  }
  std::fill_n(image, image_shape().elements(), 0.0f);
  *label = kNotCounted;
}

bool ImageDataset::read_resized(std::size_t index, float* image) const {
  return read_cropped(index, {.window = {.size = pipeline_.side}, .mirrored = false}, image);
}

ImageDataset::Crop ImageDataset::crop_of(const Sample& sample) const {
  const int room = pipeline_.side - pipeline_.insize;
  if (split_ == Split::kTest) return {{room / 2, room / 2, pipeline_.insize}, false};
  const RandomCrop crop = random_crop(random_, sample, room);
  return {.window = {crop.top, crop.left, pipeline_.insize},
          .mirrored = crop.mirrored && pipeline_.mirrors};
}

bool ImageDataset::read_cropped(std::size_t index, const Crop& crop, float* image) const {
  const std::string path = files_.path(index);
  try {
    const DecodedImage decoded = decode_image(read_image_file(path));
    resize(decoded.pixels.data.get(), decoded.pixels.width, decoded.pixels.height, pipeline_.side,
           crop.window, image);
  } catch (const ImageError& error) {
    if (policy_ == BadImagePolicy::kFail) throw DataError(printable(path), error.what());
    bad_images_->add(path, error.what());
    return false;
  }
  if (crop.mirrored) mirror(image, crop.window.size);
  return true;
}

void ImageDataset::normalise(const Crop& crop, float* image) const {
  const std::size_t row = static_cast<std::size_t>(crop.window.size) * kChannels;
  for (int y = 0; y < crop.window.size; ++y, image += row) {
    const int start = ((crop.window.top + y) * pipeline_.side + crop.window.left) * kChannels;
    const float* mean = mean_ == nullptr ? row_means_.data() : mean_->values.data() + start;
    for (std::size_t i = 0; i < row; ++i) image[i] = (image[i] - mean[i]) * row_scales_[i];
  }
}

ScaledImages::ScaledImages(std::shared_ptr<const ImageCollection> collection, ImageShape shape,
                           const Normalisations& normalisations,
                           std::shared_ptr<BadImages> bad_images, std::shared_ptr<BadImages> scaled)
    : collection_(std::move(collection)),
      shape_(shape),
      normalisations_(normalisations),
      bad_images_(std::move(bad_images)),
      scaled_(std::move(scaled)) {
  if (shape.channels == 1 || shape.channels == kChannels) return;
  throw DataError(name(), "channels of the network's input", std::to_string(shape.channels),
                  "1 or 3, which image files can fill");
}

void ScaledImages::read(const Sample& sample, float* image, std::int32_t* label) const {
  const std::string path = collection_->test.path(sample.index);
  try {
    read_levels(path, image);
    const auto channels = static_cast<std::size_t>(shape_.channels);
    for (std::size_t i = 0; i < shape_.elements(); ++i) {
      image[i] = normalisations_[i % channels](image[i]);
    }
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
                             static_cast<std::size_t>(shape_.width) * kChannels);
  scale(pixels.data.get(), pixels.width, pixels.height, shape_.width, shape_.height,
        colours.data());
  if (shape_.channels == kChannels) {
    std::ranges::copy(colours, image);
    return;
  }
  for (std::size_t i = 0; i < colours.size(); i += kChannels) *image++ = grey(&colours[i]);
}

}  // namespace skyline
