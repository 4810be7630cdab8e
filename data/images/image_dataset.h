#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/bad_images.h"
#include "data/images/decoding/image_resize.h"
#include "data/images/image_collection.h"
#include "data/images/mean_image.h"
#include "data/random.h"

namespace skyline {

// From a file to what a network reads (Chainer's imagenet example, with the resizing that its
// images were prepared by).
struct ImagePipeline {
  int insize = 224;  // height and width of what is read
  int side = 256;    // that the whole image is scaled to before insize × insize are cut out of it
};

// The side that belongs to an insize: 256 to 224 and 227, and in the same proportion to others.
int side_for(int insize);

// What happens to a file that cannot be decoded.
enum class BadImagePolicy {
  kSkip,  // it is noted; another image takes its place in training, none in evaluation
  kFail,  // read() throws a DataError that names it
};

// One split of an image collection, decoded anew at each read(). An image is scaled to side × side
// whatever its proportions; insize × insize are cut out, at a random place and mirrored with an
// even chance for training, from the middle for evaluation; the mean image's same part is
// subtracted (its unmirrored part, as in Chainer) and the rest multiplied by 1/255. Always three
// channels: red, green, blue.
// Place and mirroring depend on (random's seed, epoch, index) alone. A bad image of the training
// split is replaced by the next readable one in index order, after the last the first; one of the
// test split becomes zeros with the label kNotCounted.
class ImageDataset : public Dataset {
 public:
  // `bad_images` takes what could not be read. Throws DataError when insize > side or is below 1.
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

  const ImagePipeline& pipeline() const noexcept { return pipeline_; }
  // Before the first read(); without it zeros are subtracted. Throws DataError when its side is
  // not the pipeline's.
  void set_mean(std::shared_ptr<const MeanImage> mean);

  // Image `index` scaled to side × side × 3, 0 to 255. False when it cannot be read.
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
  std::shared_ptr<const MeanImage> mean_;  // null: zeros
};

}  // namespace skyline
