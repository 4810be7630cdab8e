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

// One language's side of a parallel text.
struct TokenizedText {
  std::vector<std::string> words;     // every type, in the order of first appearance
  std::vector<std::uint64_t> counts;  // of each, in all pairs with words on both sides, those
                                      // outside of the limits of length included, as the paper
                                      // counts for its vocabularies
  SentenceList sentences;             // of indices into `words`; the pairs that were kept

  // The words of a sentence that was kept. Throws std::out_of_range.
  std::vector<std::string> sentence(std::size_t index) const;
};

// What became of the lines. Every line is in exactly one of the counts below `lines`.
struct TextSummary {
  std::uint64_t lines = 0;  // pairs of lines, or lines of a tab-separated file
  std::uint64_t kept = 0;
  std::uint64_t empty = 0;         // no word on one side or on both
  std::uint64_t outside = 0;       // shorter or longer than the limits
  std::uint64_t invalid_utf8 = 0;  // on one side or on both
  std::uint64_t without_tab = 0;   // of a tab-separated file
  // For each reason the first line that was skipped: "[train.fr] line 12, byte 7: 0xff is not
  // UTF-8; the pair was skipped, as were 3 more such pairs".
  std::vector<std::string> faults;

  std::size_t least_words = 1, most_words = 1;  // the limits
  bool operator==(const TextSummary&) const = default;

  // "1000 pairs: 950 kept; skipped 3 empty, 46 not of 1 to 50 words, 1 not UTF-8".
  std::string text() const;
};

struct ParallelText {
  TokenizedText source, target;  // as many sentences in each
  TextSummary summary;

  std::size_t size() const noexcept { return source.sentences.size(); }
};

struct ParallelTextOptions {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  // Both sides of a pair have that many words, or the pair is left out. The paper's limits for
  // training; it does not cut what it validates on: kUnlimited there.
  std::size_t least_words = 1;
  std::size_t most_words = 50;
  bool strict = false;  // throw for what is no UTF-8 and for a missing tab, rather than skip it
  TokenizerOptions tokenizer;
};

// Files whose lines are sentences.
struct TextFiles {
  std::filesystem::path source;
  // Empty: the lines of `source` are "source TAB target", or "source TAB target TAB ignored".
  std::filesystem::path target;
};

// Reads sentences, one a line, and tokenizes them; several files follow each other as one text.
// Files may be gzip'd; what they hold tells. Lines end with LF or CRLF, the last one's end may be
// missing; a byte order mark at the start is left out. Throws DataError when a file cannot be read,
// when two have not the same number of lines (naming both numbers), when a line is longer than
// 1 MiB, when nothing is kept (naming the counts), and for the first fault when options.strict.
ParallelText read_text_files(std::span<const TextFiles> files,
                             const ParallelTextOptions& options = {});

// The same from the files of one text, and from bytes that are open already.
ParallelText read_parallel_text(const std::filesystem::path& source,
                                const std::filesystem::path& target,
                                const ParallelTextOptions& options = {});
ParallelText read_parallel_text(ByteReader source, ByteReader target,
                                const ParallelTextOptions& options = {});
ParallelText read_tab_separated_text(const std::filesystem::path& path,
                                     const ParallelTextOptions& options = {});
ParallelText read_tab_separated_text(ByteReader file, const ParallelTextOptions& options = {});

}  // namespace skyline
