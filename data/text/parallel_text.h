#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/byte_reader.h"
#include "data/text/tokenizer.h"

// Texts of two languages, from files to sentences of word numbers.

namespace skyline {

// Reads a file line by line. Lines end with LF or CRLF; the last line may lack its end. A byte
// order mark (U+FEFF in UTF-8) at the start of the file is skipped. A CR alone stays in its line.
class LineReader {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // in a line

  explicit LineReader(ByteReader reader) : reader_(std::move(reader)) {}

  // Returns the next line without its end, valid until the next call; none after the last line.
  // Throws DataError when the file is UTF-16 or UTF-32, when the line is longer than kMostBytes, so
  // that a hostile file cannot use up all memory, and whatever ByteReader throws.
  std::optional<std::string_view> next();

  std::uint64_t line() const noexcept { return line_; }  // number of the last line read, from 1
  // The first line so far that holds a CR alone; 0: none does.
  std::uint64_t line_with_cr() const noexcept { return line_with_cr_; }
  const std::string& source() const noexcept { return reader_.source(); }

 private:
  bool fill();  // false at the end of the file

  ByteReader reader_;
  std::string buffer_;
  std::size_t begin_ = 0;    // start of the next line in buffer_
  std::size_t scanned_ = 0;  // there is no LF between begin_ and here
  std::uint64_t line_ = 0, line_with_cr_ = 0;
};

// Returns what is odd about the line ends of a file that was read to its end: "[a.en] lines end in
// CR alone, …"; empty if nothing is.
std::string line_end_fault(const LineReader& lines);

// Sequences in a single buffer. Each costs 8 bytes beyond its own.
template <typename Buffer, typename View>
class SequenceList {
 public:
  std::size_t size() const noexcept { return ends_.size(); }
  bool empty() const noexcept { return ends_.empty(); }
  // Requires index < size(). The view is valid until the next push_back().
  View operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return {buffer_.data() + begin, ends_[index] - begin};
  }
  // Returns all sequences in order, without gaps.
  View buffer() const noexcept { return buffer_; }

  void push_back(View sequence) {
    buffer_.insert(buffer_.end(), sequence.begin(), sequence.end());
    ends_.push_back(buffer_.size());
  }
  bool operator==(const SequenceList&) const = default;

 private:
  Buffer buffer_;
  std::vector<std::size_t> ends_;
};
using SentenceList = SequenceList<std::vector<std::int32_t>, std::span<const std::int32_t>>;
using LineList = SequenceList<std::string, std::string_view>;

// A hash that lets maps with string keys look up a string_view without copying it.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const noexcept {
    return std::hash<std::string_view>()(word);
  }
};

// One language of a parallel text.
struct TokenizedText {
  std::vector<std::string> words;  // every distinct word, in order of first appearance
  // Occurrences of each word in all pairs with words on both sides, including pairs outside the
  // length limits: the paper counts them for its vocabularies.
  std::vector<std::uint64_t> counts;
  SentenceList sentences;  // indices into `words`, for the pairs that were kept

  // Returns the words of a kept sentence. Throws std::out_of_range.
  std::vector<std::string> sentence(std::size_t index) const;
};

// How many lines were kept and skipped. Every line is in exactly one of the counts below `lines`.
struct TextSummary {
  std::uint64_t lines = 0;  // pairs of lines, or lines of a tab-separated file
  std::uint64_t kept = 0;
  std::uint64_t empty = 0;         // no word on at least one side
  std::uint64_t outside = 0;       // shorter or longer than the limits
  std::uint64_t invalid_utf8 = 0;  // on at least one side
  std::uint64_t without_tab = 0;   // in a tab-separated file
  // The first skipped line for each reason: "[train.fr] line 12, byte 7: 0xff is not UTF-8; the
  // pair was skipped, as were 3 more such pairs"; and files that hold a CR alone.
  std::vector<std::string> faults;

  std::size_t least_words = 1, most_words = 1;  // the limits
  bool operator==(const TextSummary&) const = default;

  // "1000 pairs: 950 kept; skipped 3 empty, 46 not of 1 to 50 words, 1 not UTF-8".
  std::string text() const;
};

struct ParallelText {
  TokenizedText source, target;  // with the same number of sentences
  TextSummary summary;
  LineList source_lines, target_lines;  // of the kept pairs, as they are; if they are asked for

  std::size_t size() const noexcept { return source.sentences.size(); }
};

struct ParallelTextOptions {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  // A pair is skipped unless both sides are within these limits. The defaults are the paper's
  // limits for training; its validation texts are not cut: use kUnlimited for them.
  std::size_t least_words = 1;
  std::size_t most_words = 50;
  bool keep_sentences = true;  // otherwise pairs and words are only counted
  bool strict = false;         // throw for invalid UTF-8 or a missing tab, do not skip the pair
  bool keep_lines = false;     // of the pairs that are kept
  TokenizerOptions tokenizer;
};

// Files with one sentence per line.
struct TextFiles {
  std::filesystem::path source;
  // If empty, the lines of `source` are "source TAB target" or "source TAB target TAB ignored".
  std::filesystem::path target;
};

// Reads and tokenizes sentences, one per line; several files are joined into one text. Files may be
// gzip'd, which their content shows. Lines are read as LineReader does. Throws DataError when a
// file cannot be read, when two files differ in their number of lines (naming both numbers), when a
// line is longer than 1 MiB, when no pair is kept (naming the counts), and, with options.strict,
// for the first fault.
ParallelText read_text_files(std::span<const TextFiles> files,
                             const ParallelTextOptions& options = {});

// The same from open bytes; without a target, those of a tab-separated file.
ParallelText read_parallel_text(ByteReader source, std::optional<ByteReader> target,
                                const ParallelTextOptions& options = {});

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
