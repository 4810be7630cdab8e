#include "data/text/text_collector.h"

namespace skyline {

void TextCollector::add(std::span<const std::string_view> words, bool keep) {
  sentence_.clear();
  for (const std::string_view word : words) {
    const std::int32_t type = type_of(word);
    ++text_.counts[static_cast<std::size_t>(type)];
    sentence_.push_back(type);
  }
  if (keep) text_.sentences.push_back(sentence_);
}

std::int32_t TextCollector::type_of(std::string_view word) {
  const auto known = types_.find(word);
  if (known != types_.end()) return known->second;
  const auto type = static_cast<std::int32_t>(text_.words.size());
  types_.emplace(word, type);
  text_.words.emplace_back(word);
  text_.counts.push_back(0);
  return type;
}

}  // namespace skyline
