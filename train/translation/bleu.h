#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace skyline {

// Corpus BLEU of up to 4-grams with one reference per sentence (Papineni, Roukos, Ward, Zhu, "BLEU:
// a Method for Automatic Evaluation of Machine Translation", 2002): the geometric mean of the
// clipped precisions, times the brevity penalty exp(1 − r / c) if the answers have fewer words, c,
// than the references, r. Text is tokenized by tokenize_13a(), and the k-th order without a match
// counts as 1 / 2^k matches, so that the score is sacrebleu's by default (Post, "A Call for Clarity
// in Reporting BLEU Scores", 2018).
class Bleu {
 public:
  static constexpr std::size_t kMostWords = 4;  // longest n-gram

  // `lower`: compares text in lower case, as a network that writes lower case needs.
  explicit Bleu(bool lower = false) : lower_(lower) {}

  // Adds one sentence to the counts: its text, or its words.
  void add(std::string_view answer, std::string_view reference);
  void add(std::span<const std::string> answer, std::span<const std::string> reference);

  // In [0, 100]; 0 without a match, and if no sentence has four words.
  double score() const;
  double brevity_penalty() const;  // in [0, 1]
  // Clipped matches / all n-grams of `order` words, 1 to 4; 0 / 0 is 0.
  double precision(std::size_t order) const;
  // The share of sentences answered word for word, in [0, 1].
  double exact_match() const;

  std::uint64_t sentences() const noexcept { return sentences_; }

  // "BLEU 31.42 (62.1/38.0/25.3/17.2, brevity 0.981, 1000 sentences)".
  std::string text() const;
  // How the score is made, as sacrebleu writes it: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp".
  std::string signature() const;

 private:
  bool lower_;
  std::uint64_t sentences_ = 0, exact_ = 0;
  std::uint64_t answer_words_ = 0, reference_words_ = 0;
  std::array<std::uint64_t, kMostWords> matches_{}, ngrams_{};  // [n - 1]
};

}  // namespace skyline
