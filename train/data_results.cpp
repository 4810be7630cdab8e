#include "train/data_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"

namespace skyline {
void add_results(const DataResults& results, nlohmann::ordered_json& json, std::string& text) {
  if (const auto& images = results.bad_images) {
    json["bad_images"] = to_json(*images);
    text += bad_images_text(*images);
  }
  if (const auto& words = results.words) {
    json["source_words"] = words->source;
    json["target_words"] = words->target;
    json["pairs"] = words->pairs;
  }
  if (const auto& batch = results.longest_batch) {
    json["longest_batch"] = to_json(*batch);
    text += longest_batch_text(*batch) + "\n";
  }
}

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

nlohmann::ordered_json to_json(const std::vector<BadImage>& images) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const BadImage& image : images) {
    json.push_back({{"path", image.path}, {"reason", image.reason}});
  }
  return json;
}

std::string longest_batch_text(const LongestBatchFacts& facts) {
  return fmt::format("longest batch: {} alive at once; one plan for all batches {} {:.2f} % more{}",
                     format_bytes(facts.live_bytes), facts.one_plan ? "takes" : "would take",
                     100 * facts.share_above(),
                     facts.one_plan ? " and serves them" : ", so each has a plan of its own");
}

nlohmann::ordered_json to_json(const LongestBatchFacts& facts) {
  return {{"live_bytes", facts.live_bytes},
          {"one_plan_bytes", facts.one_plan_bytes},
          {"one_plan", facts.one_plan}};
}

}  // namespace skyline
