#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/text/parallel_text.h"

namespace skyline {

inline constexpr std::int32_t kUnknownWord = 0;    // "<UNK>"
inline constexpr std::int32_t kEndOfSentence = 1;  // "<EOS>"; also begins every target

// The words that a model knows, with their ids: 0 is unknown, 1 is end of sentence, and the words
// follow, the most frequent first.
class Vocabulary {
 public:
  // Gives `words` the ids 2, 3, …. Throws DataError naming `name` when a word repeats, is empty,
  // contains white space, is not UTF-8 or is spelled like a mark ("<UNK>", "<EOS>").
  Vocabulary(const std::string& name, std::vector<std::string> words);

  // Takes the `most_words` most frequent words of a text, or all if it has fewer. Of equally
  // frequent words, the one that appeared first comes first. Words spelled like a mark are skipped.
  static Vocabulary most_frequent(const TokenizedText& text, std::size_t most_words);

  // Both read the output of file_text(), plain or gzip'd. They throw DataError naming file and
  // line.
  static Vocabulary open(const std::filesystem::path& path);
  static Vocabulary parse(const std::string& name, std::string_view text);

  // One word per line in the order of ids, the marks first: line i + 1 holds the word of id i.
  std::string file_text() const;
  // "402 words, crc32 89abcdef", computed from file_text(). Checkpoints store it to recognise the
  // vocabulary that they were trained with.
  std::string fingerprint() const;

  std::size_t size() const noexcept { return words_.size(); }  // including the two marks
  // Returns kUnknownWord for words that are not there and for the spellings of the marks.
  std::int32_t id(std::string_view word) const;
  // Throws std::out_of_range.
  const std::string& word(std::int32_t id) const;

  std::vector<std::int32_t> encode(std::span<const std::string_view> words) const;
  SentenceList encode(const TokenizedText& text) const;  // the kept sentences
  // Stops before the first end of sentence.
  std::vector<std::string> decode(std::span<const std::int32_t> ids) const;

  bool operator==(const Vocabulary& other) const { return words_ == other.words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t, WordHash, std::equal_to<>> ids_;
};

}  // namespace skyline
