#include "data/images/image_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "data/images/augmentation.h"

namespace skyline {
namespace {

double four_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return std::strtod(text.data(), nullptr);
}

Normalisation normalisation_of(const std::array<std::uint64_t, 256>& counts) {
  std::uint64_t pixels = 0, sum = 0, squares = 0;  // at most 2^31 · 255²
  for (std::uint64_t level = 0; level < counts.size(); ++level) {
    pixels += counts[level];
    sum += counts[level] * level;
    squares += counts[level] * level * level;
  }
  // The variance from whole numbers, so that images of one level have none.
  const auto spread = static_cast<double>(static_cast<unsigned __int128>(pixels) * squares -
                                          static_cast<unsigned __int128>(sum) * sum);
  const double all = 255 * static_cast<double>(pixels);
  const double deviation = four_digits(std::sqrt(spread) / all);
  return {four_digits(static_cast<double>(sum) / all), deviation > 0 ? deviation : 1.0};
}

}  // namespace

ImageShape ImageArrays::shape() const {
  const auto& extents = images.dimensions;
  return {extents.size() == 4 ? static_cast<int>(extents[3]) : 1, static_cast<int>(extents[1]),
          static_cast<int>(extents[2])};
}

std::size_t ImageArrays::classes() const {
  return std::size_t{*std::ranges::max_element(labels.bytes)} + 1;
}

DataError no_class(const std::filesystem::path& file, std::size_t record, std::uint8_t label,
                   const std::string& expected) {
  return {file.string(),
          "label of record " + std::to_string(record) + " (counted from 0) has no class",
          std::to_string(label), expected};
}

void check_labels(const ImageArrays& split, std::size_t classes) {
  const auto& labels = split.labels.bytes;
  const auto bad =
      std::ranges::find_if(labels, [classes](std::uint8_t label) { return label >= classes; });
  if (bad == labels.end()) return;
  throw no_class(split.labels_file, static_cast<std::size_t>(bad - labels.begin()), *bad,
                 "below " + std::to_string(classes));
}

Normalisations normalisation_of(const ImageArrays& split) {
  const auto channels = static_cast<std::size_t>(split.shape().channels);
  std::array<std::array<std::uint64_t, 256>, 3> counts{};
  std::size_t channel = 0;
  for (const std::uint8_t level : split.images.bytes) {
    ++counts[channel][level];
    if (++channel == channels) channel = 0;
  }
  Normalisations all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i < channels ? normalisation_of(counts[i]) : all[0];
  }
  return all;
}

ArrayDataset::ArrayDataset(std::string name, std::vector<std::string> class_names,
                           ImageArrays split, std::optional<Augmentation> augmentation)
    : name_(std::move(name)),
      class_names_(std::move(class_names)),
      split_(std::move(split)),
      shape_(split_.shape()),
      augmentation_(std::move(augmentation)) {
  check_labels(split_, class_names_.size());
  set_normalisation({});
}

void ArrayDataset::set_normalisation(const Normalisations& normalisations) {
  for (std::size_t channel = 0; channel < normalised_.size(); ++channel) {
    for (std::size_t level = 0; level < 256; ++level) {
      normalised_[channel][level] = normalisations[channel](static_cast<float>(level));
    }
  }
}

void ArrayDataset::read(const Sample& sample, float* image, std::int32_t* label) const {
  *label = split_.labels.bytes[sample.index];
  const std::uint8_t* levels = split_.images.bytes.data() + sample.index * shape_.elements();
  const auto channels = static_cast<std::size_t>(shape_.channels);
  if (!augmentation_) {
    for (std::size_t i = 0; i < shape_.elements(); i += channels) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        image[i + channel] = normalised_[channel][levels[i + channel]];
      }
    }
    return;
  }
  const int padding = augmentation_->padding;
  const RandomCrop crop = random_crop(augmentation_->random, sample, 2 * padding);
  const bool mirrored = crop.mirrored && augmentation_->mirrors;
  for (int y = 0; y < shape_.height; ++y) {
    for (int x = 0; x < shape_.width; ++x, image += channels) {
      const int row = y + crop.top - padding;
      const int column = (mirrored ? shape_.width - 1 - x : x) + crop.left - padding;
      const bool inside = row >= 0 && row < shape_.height && column >= 0 && column < shape_.width;
      const int pixel = (row * shape_.width + column) * shape_.channels;
      for (std::size_t channel = 0; channel < channels; ++channel) {
        image[channel] =
            inside ? normalised_[channel][levels[static_cast<std::size_t>(pixel) + channel]] : 0;
      }
    }
  }
}

void add_to_scan(ImageScan& scan, const ImageArrays& split, Split which,
                 const std::string& format) {
  scan.images += split.size();
  std::size_t readable = 0;
  for (std::size_t record = 0; record < split.size(); ++record) {
    const std::uint8_t label = split.labels.bytes[record];
    if (label < scan.classes.size()) {
      ImageScan::ClassCounts& counts = scan.classes[label];
      ++(which == Split::kTrain ? counts.train : counts.test);
      ++readable;
      continue;
    }
    add_to_scan(scan, no_class(split.labels_file, record, label,
                               "below " + std::to_string(scan.classes.size())));
  }
  if (readable == 0) return;
  const auto& extents = split.images.dimensions;
  scan.add(format, readable, {extents[2], extents[1], split.images_file.string()});
}

void add_to_scan(ImageScan& scan, const DataError& error) {
  const std::size_t source = error.source().size() + sizeof("[] ") - 1;
  scan.bad.push_back({error.source(), std::string(error.what()).substr(source)});
}

}  // namespace skyline
