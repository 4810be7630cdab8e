#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/bad_images.h"
#include "data/images/image_collection.h"
#include "data/images/normalisation.h"

namespace skyline {

// The test images of a collection for a network that was trained on IDX files or drawn shapes:
// scaled to one shape whatever their proportions, grey if the shape has one channel (ITU-R BT.601),
// and every level normalised. An image that already has the shape's height and width keeps its
// levels. A file that cannot be read becomes zeros with the label kNotCounted.
class ScaledImages : public Dataset {
 public:
  // `bad_images` records the unreadable files, and `scaled`, as "300 x 200", the sizes of those
  // that had another size. Throws DataError unless `shape` has one or three channels.
  ScaledImages(std::shared_ptr<const ImageCollection> collection, ImageShape shape,
               const Normalisation& normalisation, std::shared_ptr<BadImages> bad_images,
               std::shared_ptr<BadImages> scaled);

  const std::string& name() const noexcept override { return collection_->name; }
  std::size_t size() const noexcept override { return collection_->test.files.size(); }
  ImageShape image_shape() const noexcept override { return shape_; }
  const std::vector<std::string>& class_names() const noexcept override {
    return collection_->class_names;
  }
  void read(const Sample& sample, float* image, std::int32_t* label) const override;

 private:
  // Throws ImageError.
  void read_levels(const std::string& path, float* image) const;

  std::shared_ptr<const ImageCollection> collection_;
  ImageShape shape_;
  Normalisation normalisation_;
  std::shared_ptr<BadImages> bad_images_, scaled_;
};

}  // namespace skyline
