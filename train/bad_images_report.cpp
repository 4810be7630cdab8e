#include "train/bad_images_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace skyline {
namespace {

std::vector<BadImage> bad_images(const TrainingData& data) {
  return data.bad_images == nullptr ? std::vector<BadImage>() : data.bad_images->all();
}

}  // namespace

std::string bad_images_text(const TrainingData& data) {
  constexpr std::size_t kNamed = 10;
  const std::vector<BadImage> images = bad_images(data);
  if (images.empty()) return {};
  std::string text =
      fmt::format("{} image{} could not be read: ", images.size(), images.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(images.size(), kNamed); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : "; ", images[i].path, images[i].reason);
  }
  if (images.size() > kNamed) text += fmt::format("; and {} more", images.size() - kNamed);
  return text + "\n";
}

nlohmann::ordered_json bad_images_json(const TrainingData& data) {
  return to_json(bad_images(data));
}

nlohmann::ordered_json to_json(const std::vector<BadImage>& images) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const BadImage& image : images) {
    json.push_back({{"path", image.path}, {"reason", image.reason}});
  }
  return json;
}

}  // namespace skyline
