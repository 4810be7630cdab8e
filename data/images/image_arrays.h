#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/host.h"
#include "data/images/idx/idx_array.h"
#include "data/images/image_scan.h"
#include "data/images/normalisation.h"

namespace skyline {

// The labelled images of one split, all in memory.
struct ImageArrays {
  std::filesystem::path images_file, labels_file;  // that errors name
  IdxArray images;                                 // N × height × width, or × channels besides
  IdxArray labels;                                 // N

  std::size_t size() const noexcept { return labels.bytes.size(); }
  ImageShape shape() const;     // of one image
  std::size_t classes() const;  // the largest label + 1
};

// Names a label that has no class, and its record.
DataError no_class(const std::filesystem::path& file, std::size_t record, std::uint8_t label,
                   const std::string& expected);
// Throws no_class() for the first label that is not below `classes`.
void check_labels(const ImageArrays& split, std::size_t classes);

// Mean and standard deviation over every pixel of the images, for each channel, from exact sums,
// rounded to four significant digits, as the figures of MNIST (0.1307 and 0.3081) and Fashion-MNIST
// (0.2860 and 0.3530) are published. The deviation of images of one level is given as 1.
Normalisations normalisation_of(const ImageArrays& split);

// How training images of He et al. 2016, section 4.2, vary: `padding` pixels of the mean colour are
// put around an image, and its size is cut out at a random place; it is mirrored with probability
// 1/2.
struct Augmentation {
  RandomBits random;
  int padding = 4;
  bool mirrors = true;
};

// One split of such images; read() normalises every pixel.
class ArrayDataset : public Dataset {
 public:
  // Throws DataError when a label has no class.
  ArrayDataset(std::string name, std::vector<std::string> class_names, ImageArrays split,
               std::optional<Augmentation> augmentation = {});

  // Call it before the first read(); without it, levels are only divided by 255.
  void set_normalisation(const Normalisations& normalisations);

  const std::string& name() const noexcept override { return name_; }
  std::size_t size() const noexcept override { return split_.size(); }
  ImageShape image_shape() const noexcept override { return shape_; }
  const std::vector<std::string>& class_names() const noexcept override { return class_names_; }
  void read(const Sample& sample, float* image, std::int32_t* label) const override;
  std::int32_t label(std::size_t index) const override { return split_.labels.bytes[index]; }

 private:
  std::string name_;
  std::vector<std::string> class_names_;
  ImageArrays split_;
  ImageShape shape_;
  std::optional<Augmentation> augmentation_;
  std::array<std::array<float, 256>, 3> normalised_;  // of each channel, for each level
};

// Adds a split to a scan whose classes are set; labels without a class are bad.
void add_to_scan(ImageScan& scan, const ImageArrays& split, Split which, const std::string& format);
// Adds a file that cannot be used.
void add_to_scan(ImageScan& scan, const DataError& error);

}  // namespace skyline
