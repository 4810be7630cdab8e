#include "data/text/vocabulary.h"

#include <utf8.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "data/host.h"
#include "data/text/characters.h"

namespace skyline {
namespace {

constexpr std::array<std::string_view, 2> kMarkSpellings = {"<UNK>", "<EOS>"};  // by id

bool is_mark_spelling(std::string_view word) {
  return std::ranges::find(kMarkSpellings, word) != kMarkSpellings.end();
}

// Returns what is wrong with a word; empty if nothing is.
std::string fault_of(std::string_view word) {
  if (word.empty()) return "no word";
  if (const auto byte = first_invalid_utf8(word)) return invalid_utf8_text(word, *byte);
  if (is_mark_spelling(word)) return "the mark " + std::string(word) + " among the words";
  for (const char* at = word.data(); at != word.data() + word.size();) {
    if (is_white_space(utf8::unchecked::next(at))) {
      return "white space in \"" + printable(word) + "\"";
    }
  }
  return {};
}

Vocabulary read_lines(LineReader lines) {
  for (const std::string_view mark : kMarkSpellings) {
    const auto line = lines.next();
    if (line == mark) continue;
    throw DataError(lines.source(), "line " + std::to_string(lines.line() + (line ? 0 : 1)),
                    line ? "\"" + printable(line->substr(0, 40)) + "\"" : "the end of the file",
                    "\"" + std::string(mark) + "\", as in every vocabulary");
  }
  std::vector<std::string> words;
  while (const auto line = lines.next()) words.emplace_back(*line);
  return Vocabulary(lines.source(), std::move(words));
}

}  // namespace

Vocabulary::Vocabulary(const std::string& name, std::vector<std::string> words) {
  words_.reserve(kMarkSpellings.size() + words.size());
  words_.assign(kMarkSpellings.begin(), kMarkSpellings.end());
  for (std::string& word : words) {
    const std::string line = "line " + std::to_string(words_.size() + 1) + ": ";
    const std::string fault = fault_of(word);
    if (!fault.empty()) throw DataError(name, line + fault);
    const auto [first, is_new] = ids_.emplace(word, static_cast<std::int32_t>(words_.size()));
    if (!is_new) {
      throw DataError(name, line + "\"" + printable(word) + "\" is already in line " +
                                std::to_string(first->second + 1));
    }
    words_.push_back(std::move(word));
  }
}

Vocabulary Vocabulary::most_frequent(const TokenizedText& text, std::size_t most_words) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < text.words.size(); ++i) {
    if (!is_mark_spelling(text.words[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&text](std::size_t index) { return text.counts[index]; });
  order.resize(std::min(order.size(), most_words));
  std::vector<std::string> words;
  words.reserve(order.size());
  for (const std::size_t index : order) words.push_back(text.words[index]);
  return Vocabulary("vocabulary", std::move(words));
}

Vocabulary Vocabulary::open(const std::filesystem::path& path) {
  return read_lines(LineReader(ByteReader::open(path)));
}

Vocabulary Vocabulary::parse(const std::string& name, std::string_view text) {
  return read_lines(LineReader(ByteReader(name, {text.begin(), text.end()})));
}

std::string Vocabulary::file_text() const {
  std::string text;
  for (const std::string& word : words_) text += word + "\n";
  return text;
}

std::string Vocabulary::fingerprint() const {
  return skyline::fingerprint(size(), "words", file_text());
}

std::int32_t Vocabulary::id(std::string_view word) const {
  const auto known = ids_.find(word);
  return known == ids_.end() ? kUnknownWord : known->second;
}

const std::string& Vocabulary::word(std::int32_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= words_.size()) {
    throw std::out_of_range("[vocabulary] word " + std::to_string(id) + ", expected 0 to " +
                            std::to_string(words_.size() - 1));
  }
  return words_[static_cast<std::size_t>(id)];
}

std::vector<std::int32_t> Vocabulary::encode(std::span<const std::string_view> words) const {
  std::vector<std::int32_t> ids;
  for (const std::string_view word : words) ids.push_back(id(word));
  return ids;
}

SentenceList Vocabulary::encode(const TokenizedText& text) const {
  std::vector<std::int32_t> ids;  // for each distinct word of the text
  for (const std::string& word : text.words) ids.push_back(id(word));
  SentenceList sentences;
  std::vector<std::int32_t> sentence;
  for (std::size_t i = 0; i < text.sentences.size(); ++i) {
    sentence.clear();
    for (const std::int32_t type : text.sentences[i]) {
      sentence.push_back(ids[static_cast<std::size_t>(type)]);
    }
    sentences.push_back(sentence);
  }
  return sentences;
}

std::vector<std::string> Vocabulary::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::string> words;
  for (const std::int32_t id : ids) {
    if (id == kEndOfSentence) break;
    words.push_back(word(id));
  }
  return words;
}

}  // namespace skyline
