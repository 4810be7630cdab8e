#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/idx/idx_array.h"
#include "data/images/image_scan.h"
#include "data/images/normalisation.h"

namespace skyline {

// The labelled images of one split of MNIST or of a drop-in replacement, in the files
// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte of a folder, each with or
// without ".gz", and with "." instead of "-" before "idx" as on some mirrors. The content shows
// whether a file is gzip'd.
struct IdxSplit {
  std::filesystem::path images_file, labels_file;
  IdxArray images;  // N × height × width
  IdxArray labels;  // N

  std::size_t size() const noexcept { return labels.bytes.size(); }
  ImageShape shape() const;     // of one image
  std::size_t classes() const;  // the largest label + 1
};

// Returns whether a folder has one of the four files, of either split.
bool has_idx_files(const std::filesystem::path& folder);

// Reads both files of a split into memory. Throws DataError naming the file: as parse_idx does, and
// when a file is missing or unreadable, or images and labels differ in number.
IdxSplit read_idx_split(const std::filesystem::path& folder, Split split);

// Throws DataError that names the first label which is not below `classes`.
void check_labels(const IdxSplit& split, std::size_t classes);

// Mean and standard deviation over every pixel of the images, from exact sums, rounded to four
// significant digits, as the figures of MNIST (0.1307 and 0.3081) and Fashion-MNIST (0.2860 and
// 0.3530) are published. The deviation of images of one level is given as 1.
Normalisation normalisation_of(const IdxSplit& split);

// One split of IDX files. Images have one channel; read() normalises every pixel.
class IdxDataset : public Dataset {
 public:
  // Throws DataError when a label has no class.
  IdxDataset(std::string name, std::vector<std::string> class_names, IdxSplit split);

  // Call it before the first read(); without it, levels are only divided by 255.
  void set_normalisation(const Normalisation& normalisation);

  const std::string& name() const noexcept override { return name_; }
  std::size_t size() const noexcept override { return split_.size(); }
  ImageShape image_shape() const noexcept override { return shape_; }
  const std::vector<std::string>& class_names() const noexcept override { return class_names_; }
  void read(const Sample& sample, float* image, std::int32_t* label) const override;

 private:
  std::string name_;
  std::vector<std::string> class_names_;
  IdxSplit split_;
  ImageShape shape_;
  std::array<float, 256> normalised_;  // for each level
};

// The data set that the four IDX files of a folder hold.
struct IdxCollection {
  std::string name;
  std::vector<std::string> class_names;
  bool recognised = false;  // by its labels, so that name and classes are those of a known set
};

// Names a collection by the labels of its splits; null: unknown or damaged.
using IdxNaming = std::function<IdxCollection(const IdxArray* train, const IdxArray* test)>;

// Reads the four IDX files of a folder and counts their images. Bad are: a file that is missing or
// damaged, with the images of its split left out; a label that has no class; and labels that differ
// from the images in number.
ImageScan scan_idx(const std::filesystem::path& folder, const IdxNaming& naming);

}  // namespace skyline
