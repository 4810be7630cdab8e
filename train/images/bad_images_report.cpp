#include "train/images/bad_images_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace skyline {

std::string bad_images_text(const ImageData& data) { return bad_images_text(data.unreadable()); }

std::string bad_images_text(const std::vector<BadImage>& images) {
  constexpr std::size_t kNamed = 10;
  if (images.empty()) return {};
  std::string text =
      fmt::format("{} image{} could not be read: ", images.size(), images.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(images.size(), kNamed); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : "; ", images[i].path, images[i].reason);
  }
  if (images.size() > kNamed) text += fmt::format("; and {} more", images.size() - kNamed);
  return text + "\n";
}

Rows<BadImage> rows(const BadImage*) {
  return {{"path", "of the file", &BadImage::path},
          {"reason", "what is wrong with it", &BadImage::reason}};
}

}  // namespace skyline
