#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace skyline {

enum class BleuSmoothing {
  kNone,    // an order without a match makes the score 0
  kAddOne,  // one more match and one more n-gram for n of 2 to 4 (Lin and Och, "ORANGE", 2004)
};

// Corpus BLEU of up to 4-grams with one reference per sentence (Papineni, Roukos, Ward, Zhu, "BLEU:
// a Method for Automatic Evaluation of Machine Translation", 2002): the geometric mean of the
// clipped precisions, times the brevity penalty exp(1 − r / c) if the answers have fewer words, c,
// than the references, r. The caller tokenizes.
class Bleu {
 public:
  static constexpr std::size_t kMostWords = 4;  // longest n-gram

  // Adds one sentence to the counts.
  void add(std::span<const std::string> answer, std::span<const std::string> reference);

  // In [0, 100]; 0 before any sentence. Without smoothing, also 0 if some order has no match, as in
  // a corpus of sentences below four words.
  double score(BleuSmoothing smoothing = BleuSmoothing::kNone) const;
  double brevity_penalty() const;  // in [0, 1]
  // Clipped matches / all n-grams of `order` words, 1 to 4; 0 / 0 is 0.
  double precision(std::size_t order) const;
  // The share of sentences answered word for word, in [0, 1].
  double exact_match() const;

  std::uint64_t sentences() const noexcept { return sentences_; }
  std::uint64_t answer_words() const noexcept { return answer_words_; }
  std::uint64_t reference_words() const noexcept { return reference_words_; }

  // "BLEU 31.42 (62.1/38.0/25.3/17.2, brevity 0.981, 1000 sentences)", followed by the smoothing
  // method if one is used.
  std::string text(BleuSmoothing smoothing = BleuSmoothing::kNone) const;

 private:
  std::uint64_t sentences_ = 0, exact_ = 0;
  std::uint64_t answer_words_ = 0, reference_words_ = 0;
  std::array<std::uint64_t, kMostWords> matches_{}, ngrams_{};  // [n - 1]
};

}  // namespace skyline
