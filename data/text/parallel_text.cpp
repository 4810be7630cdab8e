#include "data/text/parallel_text.h"

#include <algorithm>
#include <stdexcept>

#include "data/host.h"
#include "data/text/characters.h"

namespace skyline {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kOtherEncoding =
    "; a text in another encoding must be converted: iconv -f LATIN1 -t UTF-8";
constexpr std::size_t kNotCountedBytes = kByteOrderMark.size() + 1;  // the mark and CR

// One side of a pair and its place in a file.
struct Sentence {
  const LineReader& reader;
  std::string_view text;
  std::size_t first_byte = 0;  // offset of `text` in its line
};

// The pairs skipped for one reason.
struct Skipped {
  std::uint64_t count = 0;
  std::string first;  // "[train.fr] line 12, byte 7: 0xff is not UTF-8"

  void add(const LineReader& reader, const std::string& what) {
    if (count++ > 0) return;
    first = "[" + reader.source() + "] line " + std::to_string(reader.line()) + ", " + what;
  }
  std::string text() const {
    const std::string skipped = first + "; the pair was skipped";
    if (count == 1) return skipped;
    return skipped + (count == 2 ? ", as was 1 more such pair"
                                 : ", as were " + std::to_string(count - 1) + " more such pairs");
  }
};

// Throws if `longer` has just given a line that `shorter` has no partner for.
void check_ended(LineReader& longer, bool gave_line, const LineReader& shorter) {
  if (!gave_line) return;
  while (longer.next()) {
    // Counts the lines for the message.
  }
  throw DataError(
      longer.source(), "lines", std::to_string(longer.line()),
      std::to_string(shorter.line()) + ", as many as in " + shorter.source() +
          (shorter.line() == 1 && shorter.line_with_cr() > 0 ? ", whose lines end in CR alone"
                                                             : ""));
}

// Collects the pairs of several files into one text.
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

  // Without a target, `source` is tab-separated.
  void read(ByteReader source, std::optional<ByteReader> target) {
    if (target) {
      add_files(std::move(source), *std::move(target));
    } else {
      add_tab_separated(std::move(source));
    }
  }

  ParallelText take() {
    summary_.empty = empty_.count;
    summary_.outside = outside_.count;
    summary_.invalid_utf8 = invalid_utf8_.count;
    summary_.without_tab = without_tab_.count;
    for (const Skipped* skipped : {&empty_, &outside_, &invalid_utf8_, &without_tab_}) {
      if (skipped->count > 0) summary_.faults.push_back(skipped->text());
      if (skipped == &invalid_utf8_ && skipped->count > 0) summary_.faults.back() += kOtherEncoding;
    }
    for (std::string& fault : line_ends_) summary_.faults.push_back(std::move(fault));
    if (summary_.kept == 0) {
      const std::string first = summary_.faults.empty() ? "" : "; " + summary_.faults.front();
      throw DataError(name_, "no pair of sentences is left of " + summary_.text() + first);
    }
    return {source_.take(), target_.take(), std::move(summary_), std::move(source_lines_),
            std::move(target_lines_)};
  }

 private:
  void add_files(ByteReader source, ByteReader target) {
    LineReader source_lines(std::move(source)), target_lines(std::move(target));
    for (;;) {
      const auto source_line = source_lines.next();
      const auto target_line = target_lines.next();
      if (!source_line || !target_line) {
        check_ended(source_lines, source_line.has_value(), target_lines);
        check_ended(target_lines, target_line.has_value(), source_lines);
        add_line_ends(source_lines);
        return add_line_ends(target_lines);
      }
      add({source_lines, *source_line}, {target_lines, *target_line});
    }
  }

  void add_tab_separated(ByteReader file) {
    LineReader lines(std::move(file));
    while (const auto line = lines.next()) {
      const std::size_t tab = line->find('\t');
      if (tab == std::string_view::npos) {
        ++summary_.lines;
        add_fault(without_tab_, lines, "no tab between source and target");
        continue;
      }
      const std::size_t end = std::min(line->find('\t', tab + 1), line->size());
      add({lines, line->substr(0, tab)}, {lines, line->substr(tab + 1, end - tab - 1), tab + 1});
    }
    add_line_ends(lines);
  }

  void add(const Sentence& source, const Sentence& target) {
    ++summary_.lines;
    if (is_faulty(source) || is_faulty(target)) return;
    const auto source_words = source_tokenizer_.split(source.text);
    const auto target_words = target_tokenizer_.split(target.text);
    if (source_words.empty() || target_words.empty()) {
      empty_.add(source_words.empty() ? source.reader : target.reader, "no word");
      return;
    }
    const bool keep = fits(source, source_words.size()) && fits(target, target_words.size());
    if (keep) ++summary_.kept;
    if (keep && options_.keep_lines) {
      source_lines_.push_back(source.text);
      target_lines_.push_back(target.text);
    }
    source_.add(source_words, keep && options_.keep_sentences);
    target_.add(target_words, keep && options_.keep_sentences);
  }

  bool fits(const Sentence& sentence, std::size_t words) {
    const bool inside = words >= options_.least_words && words <= options_.most_words;
    if (!inside)
      outside_.add(sentence.reader, std::to_string(words) + (words == 1 ? " word" : " words"));
    return inside;
  }

  bool is_faulty(const Sentence& sentence) {
    const auto byte = first_invalid_utf8(sentence.text);
    if (!byte) return false;
    add_fault(invalid_utf8_, sentence.reader,
              invalid_utf8_text(sentence.text, *byte, sentence.first_byte));
    return true;
  }

  void add_line_ends(const LineReader& lines) {
    std::string fault = line_end_fault(lines);
    if (!fault.empty()) line_ends_.push_back(std::move(fault));
  }

  // A fault of the file itself, which strict reading refuses.
  void add_fault(Skipped& skipped, const LineReader& reader, const std::string& what) const {
    if (options_.strict) {
      throw DataError(reader.source(), "line " + std::to_string(reader.line()) + ", " + what);
    }
    skipped.add(reader, what);
  }

  std::string name_;
  ParallelTextOptions options_;
  Tokenizer source_tokenizer_, target_tokenizer_;
  TextCollector source_, target_;
  TextSummary summary_;
  LineList source_lines_, target_lines_;
  Skipped empty_, outside_, invalid_utf8_, without_tab_;
  std::vector<std::string> line_ends_;
};

std::string name_of(std::span<const TextFiles> files) {
  std::string name;
  for (const TextFiles& text : files) {
    for (const std::filesystem::path& path : {text.source, text.target}) {
      if (!path.empty()) name += (name.empty() ? "" : ", ") + path.string();
    }
  }
  return name.empty() ? "text" : name;
}

}  // namespace

bool LineReader::fill() {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kPieceBytes);
  const std::size_t read =
      reader_.read({reinterpret_cast<std::uint8_t*>(buffer_.data()) + had, kPieceBytes});
  buffer_.resize(had + read);
  if (line_ == 0 && had == 0) {
    if (const auto encoding = wide_encoding(buffer_); !encoding.empty()) {
      throw DataError(source(), "is " + std::string(encoding) + "; convert it to UTF-8: iconv -f " +
                                    std::string(encoding) + " -t UTF-8");
    }
  }
  return read > 0;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t end = buffer_.find('\n', scanned_);
  while (end == std::string::npos) {
    scanned_ = buffer_.size();
    // Reading stops at the limit: the line is refused below without having been read to its end.
    if (scanned_ - begin_ > kMostBytes + kNotCountedBytes || !fill()) break;
    end = buffer_.find('\n', scanned_);
  }
  const bool ended = end != std::string::npos;
  if (!ended && begin_ == buffer_.size()) return std::nullopt;
  std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = scanned_ = ended ? end + 1 : buffer_.size();
  if (++line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_with_cr_ == 0 && line.find('\r') != std::string_view::npos) line_with_cr_ = line_;
  if (line.size() > kMostBytes) {
    throw DataError(source(), "line " + std::to_string(line_) + " is longer than " +
                                  std::to_string(kMostBytes) + " bytes");
  }
  return line;
}

std::string line_end_fault(const LineReader& lines) {
  if (lines.line_with_cr() == 0) return {};
  const std::string file = "[" + lines.source() + "] ";
  if (lines.line() > 1) {
    return file + "line " + std::to_string(lines.line_with_cr()) +
           " holds a CR alone, which is read as white space";
  }
  return file +
         "lines end in CR alone, so that it was read as one line; convert it: tr '\\r' '\\n'";
}

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

std::vector<std::string> TokenizedText::sentence(std::size_t index) const {
  if (index >= sentences.size()) {
    throw std::out_of_range("[text] sentence " + std::to_string(index) + ", expected below " +
                            std::to_string(sentences.size()));
  }
  std::vector<std::string> made;
  for (const std::int32_t type : sentences[index]) {
    made.push_back(words[static_cast<std::size_t>(type)]);
  }
  return made;
}

ParallelText read_text_files(std::span<const TextFiles> files, const ParallelTextOptions& options) {
  PairCollector collector(name_of(files), options);
  for (const TextFiles& text : files) {
    collector.read(
        ByteReader::open(text.source),
        text.target.empty() ? std::nullopt : std::optional(ByteReader::open(text.target)));
  }
  return collector.take();
}

ParallelText read_parallel_text(ByteReader source, std::optional<ByteReader> target,
                                const ParallelTextOptions& options) {
  PairCollector collector(source.source() + (target ? ", " + target->source() : ""), options);
  collector.read(std::move(source), std::move(target));
  return collector.take();
}

}  // namespace skyline
