#include "data/parallel_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "data/errors.h"
#include "data/line_reader.h"
#include "data/text_collector.h"
#include "data/utf8.h"

namespace skyline {
namespace {

constexpr std::size_t kMostFaults = 10;  // sentences in TextSummary::faults

// A side of a pair, and where it stands.
struct Sentence {
  const LineReader& reader;
  std::string_view text;
  std::size_t first_byte = 0;  // of the line come before `text`
};

// Takes pairs one by one and makes the text of them.
class PairCollector {
 public:
  PairCollector(std::string name, const ParallelTextOptions& options)
      : name_(std::move(name)),
        options_(options),
        source_tokenizer_(options.tokenizer),
        target_tokenizer_(options.tokenizer) {
    if (options.least_words > options.most_words) {
      throw DataError(name_, "words of a sentence",
                      "at least " + std::to_string(options.least_words),
                      "no more than the most, " + std::to_string(options.most_words));
    }
    summary_.least_words = options.least_words;
    summary_.most_words = options.most_words;
  }

  void add(const Sentence& source, const Sentence& target) {
    ++summary_.lines;
    if (is_faulty(source) || is_faulty(target)) {
      ++summary_.invalid_utf8;
      return;
    }
    const auto source_words = source_tokenizer_.split(source.text);
    const auto target_words = target_tokenizer_.split(target.text);
    if (source_words.empty() || target_words.empty()) {
      ++summary_.empty;
      return;
    }
    const bool keep = fits(source_words.size()) && fits(target_words.size());
    ++(keep ? summary_.kept : summary_.outside);
    source_.add(source_words, keep);
    target_.add(target_words, keep);
  }

  // A line of a tab-separated file that has one column.
  void skip_without_tab(const LineReader& reader) {
    ++summary_.lines;
    ++summary_.without_tab;
    note(reader, "no tab between source and target");
  }

  ParallelText take() {
    if (summary_.kept == 0)
      throw DataError(name_, "no pair of sentences is left of " + summary_.text());
    return {source_.take(), target_.take(), std::move(summary_)};
  }

 private:
  bool fits(std::size_t words) const {
    return words >= options_.least_words && words <= options_.most_words;
  }

  bool is_faulty(const Sentence& sentence) {
    const auto byte = first_invalid_utf8(sentence.text);
    if (byte) note(sentence.reader, invalid_utf8_text(sentence.text, *byte, sentence.first_byte));
    return byte.has_value();
  }

  // Records what is wrong with the reader's last line, or throws it.
  void note(const LineReader& reader, const std::string& fault) {
    const std::string what = "line " + std::to_string(reader.line()) + ", " + fault;
    if (options_.strict) throw DataError(reader.source(), what);
    if (summary_.faults.size() == kMostFaults) return;
    summary_.faults.push_back("[" + reader.source() + "] " + what + "; the pair was skipped");
  }

  std::string name_;
  ParallelTextOptions options_;
  Tokenizer source_tokenizer_, target_tokenizer_;
  TextCollector source_, target_;
  TextSummary summary_;
};

// Throws when `longer` has lines left; `last`: whether it has just given one of them.
void check_ended(LineReader& longer, bool last, const LineReader& shorter) {
  if (!last) return;
  while (longer.next()) {
  }
  throw DataError(longer.source(), "lines", std::to_string(longer.line()),
                  std::to_string(shorter.line()) + ", as many as in " + shorter.source());
}

}  // namespace

std::string TextSummary::text() const {
  std::string skipped;
  const auto append = [&skipped](std::uint64_t count, const std::string& what) {
    if (count == 0) return;
    skipped += skipped.empty() ? "; skipped " : ", ";
    skipped += std::to_string(count) + " " + what;
  };
  append(empty, "empty");
  append(outside, most_words == ParallelTextOptions::kUnlimited
                      ? "of fewer than " + std::to_string(least_words) + " words"
                      : "not of " + std::to_string(least_words) + " to " +
                            std::to_string(most_words) + " words");
  append(invalid_utf8, "not UTF-8");
  append(without_tab, "without a tab");
  return std::to_string(lines) + " pairs: " + std::to_string(kept) + " kept" + skipped;
}

ParallelText read_parallel_text(const std::filesystem::path& source,
                                const std::filesystem::path& target,
                                const ParallelTextOptions& options) {
  return read_parallel_text(ByteReader::open(source), ByteReader::open(target), options);
}

ParallelText read_parallel_text(ByteReader source, ByteReader target,
                                const ParallelTextOptions& options) {
  PairCollector collector(source.source() + ", " + target.source(), options);
  LineReader source_lines(std::move(source)), target_lines(std::move(target));
  for (;;) {
    const auto source_line = source_lines.next();
    const auto target_line = target_lines.next();
    if (!source_line || !target_line) {
      check_ended(source_lines, source_line.has_value(), target_lines);
      check_ended(target_lines, target_line.has_value(), source_lines);
      return collector.take();
    }
    collector.add({source_lines, *source_line}, {target_lines, *target_line});
  }
}

ParallelText read_tab_separated_text(const std::filesystem::path& path,
                                     const ParallelTextOptions& options) {
  return read_tab_separated_text(ByteReader::open(path), options);
}

ParallelText read_tab_separated_text(ByteReader file, const ParallelTextOptions& options) {
  PairCollector collector(file.source(), options);
  LineReader lines(std::move(file));
  while (const auto line = lines.next()) {
    const std::size_t tab = line->find('\t');
    if (tab == std::string_view::npos) {
      collector.skip_without_tab(lines);
      continue;
    }
    const std::size_t end = std::min(line->find('\t', tab + 1), line->size());
    collector.add({lines, line->substr(0, tab)},
                  {lines, line->substr(tab + 1, end - tab - 1), tab + 1});
  }
  return collector.take();
}

}  // namespace skyline
