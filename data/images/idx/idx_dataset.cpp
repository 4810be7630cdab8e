#include "data/images/idx/idx_dataset.h"

#include <utility>

namespace skyline {

IdxDataset::IdxDataset(std::string name, std::vector<std::string> class_names, IdxSplit split)
    : name_(std::move(name)),
      class_names_(std::move(class_names)),
      split_(std::move(split)),
      shape_(split_.shape()) {
  check_labels(split_, class_names_.size());
  set_normalisation({});
}

void IdxDataset::set_normalisation(const Normalisation& normalisation) {
  for (std::size_t level = 0; level < normalised_.size(); ++level) {
    normalised_[level] = normalisation(static_cast<float>(level));
  }
}

void IdxDataset::read(const Sample& sample, float* image, std::int32_t* label) const {
  const std::size_t elements = shape_.elements();
  const std::uint8_t* pixels = split_.images.bytes.data() + sample.index * elements;
  for (std::size_t i = 0; i < elements; ++i) image[i] = normalised_[pixels[i]];
  *label = split_.labels.bytes[sample.index];
}

}  // namespace skyline
