#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

struct TokenizerOptions {
  // Latin letters to U+024F, Greek and Cyrillic ones to lower case.
  bool lower = false;
  bool operator==(const TokenizerOptions&) const = default;
};

// Splits sentences into words as the paper's example does (Chainer v3.0.0,
// examples/seq2seq/wmt_preprocess.py): U+2019 becomes ', every decimal digit of Unicode 0; then
// white space (of Unicode) separates, and each of . , ! ? " ' : ; ) ( is a word of its own wherever
// it stands. Thread rule: one thread, since buffers are used again.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerOptions options = {}) : options_(options) {}

  // The words of `sentence`, valid until the next call. Throws DataError when it is not UTF-8,
  // naming the byte.
  std::span<const std::string_view> split(std::string_view sentence);

  TokenizerOptions options() const noexcept { return options_; }

 private:
  void normalize(std::string_view sentence);

  TokenizerOptions options_;
  std::string text_;  // the sentence with ', 0 and plain spaces
  std::vector<std::string_view> words_;
};

// The words of one sentence, as Tokenizer::split.
std::vector<std::string> tokenize(std::string_view sentence, TokenizerOptions options = {});

// Words as a reader wants them: joined by spaces, none before . , ) and after (, none around ',
// and quotation marks closed up to what they enclose. What ! ? : ; are set off with in French and
// digits that became 0 do not come back: for display only.
std::string detokenize(std::span<const std::string> words);

}  // namespace skyline
