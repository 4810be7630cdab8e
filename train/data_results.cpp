#include "train/data_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/host.h"
#include "data/text/characters.h"
#include "train/cli/byte_sizes.h"

namespace skyline {
Rows<DataResults> rows(const DataResults*) {
  const auto words = [](std::size_t DataResults::Words::*number) {
    return [number](const DataResults& results) {
      return if_known(results.words ? std::optional((*results.words).*number) : std::nullopt);
    };
  };
  return {{"bad_images", "of images: files that could not be used",
           [](auto& results) { return if_known(results.bad_images); }},
          {"source_words", kCount, "of text: the source's vocabulary",
           words(&DataResults::Words::source)},
          {"target_words", kCount, "of text: the target's vocabulary",
           words(&DataResults::Words::target)},
          {"pairs", kCount, "of text: sentences to train with", words(&DataResults::Words::pairs)},
          {"longest_batch", "of text that is planned ahead",
           [](auto& results) { return if_known(results.longest_batch); }}};
}

std::string results_text(const DataResults& results) {
  std::string text;
  if (results.bad_images) text += bad_images_text(*results.bad_images);
  if (results.longest_batch) text += longest_batch_text(*results.longest_batch) + "\n";
  return text;
}

std::string bad_images_text(const std::vector<BadImage>& images) {
  constexpr std::size_t kNamed = 10;
  if (images.empty()) return {};
  std::string text =
      fmt::format("{} image{} could not be read: ", images.size(), images.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(images.size(), kNamed); ++i) {
    text +=
        fmt::format("{}{} ({})", i == 0 ? "" : "; ", printable(images[i].path), images[i].reason);
  }
  if (images.size() > kNamed) text += fmt::format("; and {} more", images.size() - kNamed);
  return text + "\n";
}

Rows<BadImage> rows(const BadImage*) {
  Rows<BadImage> rows;
  add_path_rows(rows);
  rows.emplace_back("reason", "what is wrong with it", &BadImage::reason);
  return rows;
}

std::optional<std::string> path_bytes(const std::string& path) {
  if (!first_invalid_utf8(path)) return {};
  std::string digits;
  for (const char byte : path) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

std::string longest_batch_text(const LongestBatchFacts& facts) {
  return fmt::format("longest batch: {} alive at once; one plan for all batches {} {:.2f} % more{}",
                     format_bytes(facts.live_bytes), facts.one_plan ? "takes" : "would take",
                     100 * facts.share_above(),
                     facts.one_plan ? " and serves them" : ", so each has a plan of its own");
}

Rows<LongestBatchFacts> rows(const LongestBatchFacts*) {
  return {
      {"live_bytes", kBytes, "alive at once in one step, at most", &LongestBatchFacts::live_bytes},
      {"one_plan_bytes", kBytes, "that one plan for all steps takes at least",
       &LongestBatchFacts::one_plan_bytes},
      {"one_plan", "it serves all; otherwise each batch has its own",
       &LongestBatchFacts::one_plan}};
}

}  // namespace skyline
