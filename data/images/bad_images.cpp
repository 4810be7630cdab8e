#include "data/images/bad_images.h"

#include <algorithm>

namespace skyline {
namespace {

std::vector<BadImage> sorted(std::vector<BadImage> images) {
  std::ranges::sort(images, {}, &BadImage::path);
  return images;
}

}  // namespace

void BadImages::add(const std::string& path, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (known_.insert(path).second) images_.push_back({path, reason});
}

std::vector<BadImage> BadImages::take_new() {
  const std::lock_guard lock(mutex_);
  const auto begin = images_.begin() + static_cast<std::ptrdiff_t>(taken_);
  taken_ = images_.size();
  return sorted({begin, images_.end()});
}

std::vector<BadImage> BadImages::all() const {
  const std::lock_guard lock(mutex_);
  return sorted(images_);
}

}  // namespace skyline
