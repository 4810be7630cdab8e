#include "data/images/image_collection.h"

#include <filesystem>

namespace skyline {

std::string ImageFiles::path(std::size_t index) const {
  return (std::filesystem::path(root) / files[index].path).string();
}

}  // namespace skyline
