#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/byte_reader.h"
#include "data/text/sentence_list.h"
#include "data/text/tokenizer.h"

namespace skyline {

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
  // pair was skipped, as were 3 more such pairs".
  std::vector<std::string> faults;

  std::size_t least_words = 1, most_words = 1;  // the limits
  bool operator==(const TextSummary&) const = default;

  // "1000 pairs: 950 kept; skipped 3 empty, 46 not of 1 to 50 words, 1 not UTF-8".
  std::string text() const;
};

struct ParallelText {
  TokenizedText source, target;  // with the same number of sentences
  TextSummary summary;

  std::size_t size() const noexcept { return source.sentences.size(); }
};

struct ParallelTextOptions {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  // A pair is skipped unless both sides are within these limits. The defaults are the paper's
  // limits for training; its validation texts are not cut: use kUnlimited for them.
  std::size_t least_words = 1;
  std::size_t most_words = 50;
  bool strict = false;  // throw for invalid UTF-8 or a missing tab instead of skipping the pair
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

// The same from open bytes, and from one tab-separated file.
ParallelText read_parallel_text(ByteReader source, ByteReader target,
                                const ParallelTextOptions& options = {});
ParallelText read_tab_separated_text(const std::filesystem::path& path,
                                     const ParallelTextOptions& options = {});
ParallelText read_tab_separated_text(ByteReader file, const ParallelTextOptions& options = {});

}  // namespace skyline
