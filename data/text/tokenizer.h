#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

struct TokenizerOptions {
  // Lower-case Latin (up to U+024F), Greek and Cyrillic letters.
  bool lower = false;
  bool operator==(const TokenizerOptions&) const = default;
};

// Splits sentences into words as the paper's example does (Chainer v3.0.0,
// examples/seq2seq/wmt_preprocess.py): U+2019 becomes ' and every Unicode decimal digit becomes 0;
// then Unicode white space separates words, and each of . , ! ? " ' : ; ) ( is a word of its own.
// with_digits_of() puts digits back.
// Thread rule: one thread, because buffers are reused.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerOptions options = {}) : options_(options) {}

  // Returns the words of `sentence`, valid until the next call. Throws DataError naming the byte
  // when it is not UTF-8.
  std::span<const std::string_view> split(std::string_view sentence);

  TokenizerOptions options() const noexcept { return options_; }

 private:
  void normalize(std::string_view sentence);

  TokenizerOptions options_;
  std::string text_;  // the sentence with ', 0 and plain spaces
  std::vector<std::string_view> words_;
};

// Returns the words of one sentence, as Tokenizer::split does.
std::vector<std::string> tokenize(std::string_view sentence, TokenizerOptions options = {});

// Splits a line, which is UTF-8, as sacrebleu's tokenizer 13a does to score it, which is that of
// mteval-v13a.pl.
std::vector<std::string> tokenize_13a(std::string_view line);

// Joins words for display: with spaces, but none before . , ) or after ( or around ', and quotation
// marks hug what they enclose. It does not restore the French space before ! ? : ;.
std::string detokenize(std::span<const std::string> words);

// Puts the digits of the source sentence into a translation, whose digits are all 0: each run of
// zeros becomes the first run of as many digits in `source` that none before took. Where there is
// none, the digits are unknown and become #. `source` must be UTF-8.
std::string with_digits_of(std::string_view source, std::string_view translation);

}  // namespace skyline
