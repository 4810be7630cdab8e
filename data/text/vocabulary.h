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

#include "data/text/sentence_list.h"
#include "data/text/word_hash.h"

namespace skyline {

struct TokenizedText;

inline constexpr std::int32_t kUnknownWord = 0;    // "<UNK>"
inline constexpr std::int32_t kEndOfSentence = 1;  // "<EOS>", which begins the target too

// The words that a model knows, with their ids: 0 unknown, 1 end of sentence, then words from the
// most frequent on.
class Vocabulary {
 public:
  // Words for the ids 2, 3, …. Throws DataError, naming `name`, when a word repeats, is empty,
  // holds white space, is not UTF-8 or is spelled like a mark ("<UNK>", "<EOS>").
  Vocabulary(const std::string& name, std::vector<std::string> words);

  // The `most_words` most frequent words of a text, or all where it has fewer; of words as frequent
  // the one that appeared first comes first. Words spelled like a mark are left out.
  static Vocabulary most_frequent(const TokenizedText& text, std::size_t most_words);

  // Reads what file_text() gave, plain or gzip'd. Throws DataError naming file and line.
  static Vocabulary open(const std::filesystem::path& path);
  static Vocabulary parse(const std::string& name, std::string_view text);

  // A line a word in the order of ids, the marks first: line i + 1 is the word of id i.
  std::string file_text() const;
  // "402 words, crc32 89abcdef": of file_text(). Stored in a checkpoint, it tells whether a
  // vocabulary is the one that the checkpoint was trained with.
  std::string fingerprint() const;

  std::size_t size() const noexcept { return words_.size(); }  // both marks included
  // kUnknownWord for what is not there, the marks' own spelling included.
  std::int32_t id(std::string_view word) const;
  // Throws std::out_of_range.
  const std::string& word(std::int32_t id) const;

  std::vector<std::int32_t> encode(std::span<const std::string_view> words) const;
  SentenceList encode(const TokenizedText& text) const;  // the sentences that were kept
  // Up to the first end of sentence, which is left out.
  std::vector<std::string> decode(std::span<const std::int32_t> ids) const;

  bool operator==(const Vocabulary& other) const { return words_ == other.words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t, WordHash, std::equal_to<>> ids_;
};

}  // namespace skyline
