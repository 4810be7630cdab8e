#pragma once

#include <array>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/idx/idx_split.h"
#include "data/images/normalisation.h"

namespace skyline {

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

}  // namespace skyline
