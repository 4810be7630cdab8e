#include "train/images/bad_images_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

nlohmann::ordered_json bad_images_json(const ImageData& data) { return to_json(data.unreadable()); }

nlohmann::ordered_json to_json(const std::vector<BadImage>& images) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const BadImage& image : images) {
    json.push_back({{"path", image.path}, {"reason", image.reason}});
  }
  return json;
}

}  // namespace skyline
