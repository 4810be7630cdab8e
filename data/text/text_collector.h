#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/text/parallel_text.h"
#include "data/text/word_hash.h"

namespace skyline {

// Builds the TokenizedText of one language, sentence by sentence.
class TextCollector {
 public:
  // Counts the words and, if `keep`, stores the sentence.
  void add(std::span<const std::string_view> words, bool keep);
  TokenizedText take() { return std::move(text_); }

 private:
  std::int32_t type_of(std::string_view word);

  TokenizedText text_;
  std::unordered_map<std::string, std::int32_t, WordHash, std::equal_to<>> types_;
  std::vector<std::int32_t> sentence_;
};

}  // namespace skyline
