// Any bytes, gzip'd or not, read as parallel text or as a vocabulary, either end in a DataError or
// give what the headers promise: every line is counted once, sentences keep the limits, words stay
// words and get their digits back, a vocabulary is equal after writing and reading it back, and
// batches unpack to their sentences. The first byte's bits choose strict, lower case, and one file
// with tabs (else two files, split in the middle).
#include <algorithm>
#include <cstdlib>

#include "data/host.h"
#include "data/text/pair_loader.h"
#include "data/text/parallel_text.h"
#include "data/text/vocabulary.h"
#include "tests/data/text/unpacked.h"

namespace {

using namespace skyline;

constexpr std::size_t kMostWords = 6;

void check(bool good) {
  if (!good) std::abort();
}

void check_words(const TokenizedText& text, TokenizerOptions options) {
  check(text.words.size() == text.counts.size());
  for (const std::string& word : text.words) {
    check(tokenize(word, options) == std::vector<std::string>{word});
  }
  detokenize(text.words);
}

void check_sentences(const TokenizedText& text) {
  const Vocabulary vocabulary = Vocabulary::most_frequent(text, text.words.size());
  check(Vocabulary::parse("again", vocabulary.file_text()) == vocabulary);
  const SentenceList encoded = vocabulary.encode(text);
  std::vector<std::vector<std::int32_t>> sentences;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    check(!encoded[i].empty() && encoded[i].size() <= kMostWords);
    check(std::ranges::find(encoded[i], kEndOfSentence) == encoded[i].end());
    sentences.emplace_back(encoded[i].begin(), encoded[i].end());
  }
  const PackedWords packed = pack(sentences);
  check(unpacked(packed, packed.words) == sentences);
}

// A sentence that is its own source lacks no digit.
void check_digits(const TokenizedText& text, const LineList& lines) {
  check(lines.size() == text.sentences.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(lines[i]), back = with_digits_of(line, detokenize(text.sentence(i)));
    check(std::ranges::count(back, '#') == std::ranges::count(line, '#'));
  }
}

void check_text(const ParallelText& text, TokenizerOptions options) {
  const TextSummary& summary = text.summary;
  check(summary.lines == summary.kept + summary.empty + summary.outside + summary.invalid_utf8 +
                             summary.without_tab);
  check(summary.kept == text.size() && text.target.sentences.size() == text.size());
  for (const TokenizedText* side : {&text.source, &text.target}) {
    check_words(*side, options);
    check_sentences(*side);
  }
  check_digits(text.source, text.source_lines);
  check_digits(text.target, text.target_lines);
}

ByteReader part(const std::uint8_t* begin, const std::uint8_t* end) {
  return ByteReader("fuzz", {begin, end});
}

ParallelText read(const std::uint8_t* data, std::size_t size, const ParallelTextOptions& options,
                  bool tabs) {
  if (tabs) return read_parallel_text(part(data, data + size), {}, options);
  const std::uint8_t* middle = data + size / 2;
  return read_parallel_text(part(data, middle), part(middle, data + size), options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ParallelTextOptions options{.most_words = kMostWords,
                                    .strict = (data[0] & 1) != 0,
                                    .keep_lines = true,
                                    .tokenizer = {.lower = (data[0] & 2) != 0}};
  try {
    check_text(read(data + 1, size - 1, options, (data[0] & 4) != 0), options.tokenizer);
  } catch (const DataError&) {
  }
  try {
    const Vocabulary vocabulary =
        Vocabulary::parse("fuzz", {reinterpret_cast<const char*>(data), size});
    check(Vocabulary::parse("again", vocabulary.file_text()) == vocabulary);
  } catch (const DataError&) {
  }
  return 0;
}
