#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skyline {

enum class Split { kTrain, kTest };

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  std::size_t elements() const noexcept {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  bool operator==(const ImageShape&) const = default;
};

// One visit to an image of a data set.
struct Sample {
  std::size_t index = 0;
  std::uint64_t epoch = 0;  // selects the augmentation
};

// The label of an image that cannot be read. Evaluation skips it.
inline constexpr std::int32_t kNotCounted = -1;

// Labelled images of one shape. The same sample always gives the same bits. Thread rule: every
// member may be called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const std::string& name() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
  virtual ImageShape image_shape() const noexcept = 0;
  // One name per class, in the order of labels.
  virtual const std::vector<std::string>& class_names() const noexcept = 0;
  int classes() const noexcept { return static_cast<int>(class_names().size()); }

  // Writes image `sample.index` (height × width × channels, channels last, normalised as the data
  // set documents) and its label: in [0, classes), or kNotCounted. Requires sample.index < size().
  virtual void read(const Sample& sample, float* image, std::int32_t* label) const = 0;
  // Returns the label alone; kNotCounted only where the image must be read for it.
  virtual std::int32_t label(std::size_t index) const {
    std::int32_t label = kNotCounted;
    std::vector<float> image(image_shape().elements());
    read({.index = index}, image.data(), &label);
    return label;
  }
};

}  // namespace skyline
