#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/host.h"
#include "data/images/bad_images.h"
#include "data/images/decoding/image_resize.h"
#include "data/images/image_collection.h"
#include "data/images/normalisation.h"

namespace skyline {

// How a file becomes a network's input (Chainer's imagenet example, including the resizing that
// prepares its images).
struct ImagePipeline {
  int insize = 224;  // height and width of the network's input
  int side = 256;  // the whole image is scaled to side × side before insize × insize are cut out
  bool mirrors = true;                // training images, with probability 1/2
  Normalisations normalisation = {};  // a mean image replaces its means
};

// Returns the side for an insize: 256 for 224 and 227, and in proportion to 224 for others.
int side_for(int insize);

// Decides how to treat a file that cannot be decoded.
enum class BadImagePolicy {
  kSkip,  // record it; training uses another image instead, evaluation does not count it
  kFail,  // read() throws a DataError naming it
};

// One split of an image collection; every read() decodes the file again. The image is scaled to
// side × side whatever its proportions, then insize × insize are cut out: for training at a random
// place and mirrored with probability 1/2, for evaluation from the middle. Each value becomes
// (level / 255 − mean) / deviation by the pipeline's normalisation; a mean image, if there is one,
// gives the means instead (its part at the same place, unmirrored, as in Chainer).
// There are always three channels: red, green, blue. Place and mirroring depend only on (random's
// seed, epoch, index). In the training split, the next readable image in index order (wrapping
// around) replaces a bad one; in the test split, a bad image becomes zeros with the label
// kNotCounted.
class ImageDataset : public Dataset {
 public:
  // `bad_images` records the unreadable files. Throws DataError unless 1 ≤ insize ≤ side.
  ImageDataset(std::shared_ptr<const ImageCollection> collection, Split split,
               const ImagePipeline& pipeline, BadImagePolicy policy, RandomBits random,
               std::shared_ptr<BadImages> bad_images);

  const std::string& name() const noexcept override { return collection_->name; }
  std::size_t size() const noexcept override { return files_.files.size(); }
  ImageShape image_shape() const noexcept override {
    return {3, pipeline_.insize, pipeline_.insize};
  }
  const std::vector<std::string>& class_names() const noexcept override {
    return collection_->class_names;
  }
  // Throws DataError when no image of the training split can be read, and under kFail.
  void read(const Sample& sample, float* image, std::int32_t* label) const override;
  std::int32_t label(std::size_t index) const override { return files_.files[index].label; }

  const ImagePipeline& pipeline() const noexcept { return pipeline_; }
  // Call it before the first read(). Throws DataError when its side is not the pipeline's.
  void set_mean(std::shared_ptr<const MeanImage> mean);

  // Writes image `index` scaled to side × side × 3, 0 to 255. Returns false if it cannot be read.
  bool read_resized(std::size_t index, float* image) const;

 private:
  struct Crop {
    CropWindow window;
    bool mirrored;
  };
  Crop crop_of(const Sample& sample) const;
  bool read_cropped(std::size_t index, const Crop& crop, float* image) const;
  void normalise(const Crop& crop, float* image) const;

  std::shared_ptr<const ImageCollection> collection_;
  Split split_;
  const ImageFiles& files_;
  ImagePipeline pipeline_;
  BadImagePolicy policy_;
  RandomBits random_;
  std::shared_ptr<BadImages> bad_images_;
  std::shared_ptr<const MeanImage> mean_;      // null: the pipeline's means
  std::vector<float> row_means_, row_scales_;  // of one row of the input
};

// The test images of a collection for a network that was trained on IDX files or drawn shapes:
// scaled to one shape whatever their proportions, grey if the shape has one channel (ITU-R BT.601),
// and every level normalised. An image that already has the shape's height and width keeps its
// levels. A file that cannot be read becomes zeros with the label kNotCounted.
class ScaledImages : public Dataset {
 public:
  // `bad_images` records the unreadable files, and `scaled`, as "300 x 200", the sizes of those
  // that had another size. Throws DataError unless `shape` has one or three channels.
  ScaledImages(std::shared_ptr<const ImageCollection> collection, ImageShape shape,
               const Normalisations& normalisations, std::shared_ptr<BadImages> bad_images,
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
  Normalisations normalisations_;
  std::shared_ptr<BadImages> bad_images_, scaled_;
};

}  // namespace skyline
