#include "train/translation/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "data/text/characters.h"
#include "data/text/tokenizer.h"

namespace skyline {
namespace {

using Words = std::span<const std::string>;
using Ngram = std::array<std::uint32_t, Bleu::kMostWords>;  // ids from 1; unused places are 0
using NgramIds = std::unordered_map<std::string_view, std::uint32_t>;

std::vector<std::uint32_t> ids_of(Words words, NgramIds& ids) {
  std::vector<std::uint32_t> sentence;
  for (const std::string& word : words) {
    const auto next = static_cast<std::uint32_t>(ids.size() + 1);
    sentence.push_back(ids.emplace(word, next).first->second);
  }
  return sentence;
}

std::vector<Ngram> sorted_ngrams(std::span<const std::uint32_t> sentence, std::size_t order) {
  std::vector<Ngram> ngrams;
  for (std::size_t i = 0; i + order <= sentence.size(); ++i) {
    std::ranges::copy(sentence.subspan(i, order), ngrams.emplace_back(Ngram{}).begin());
  }
  std::ranges::sort(ngrams);
  return ngrams;
}

// Returns the size of the multiset intersection: an n-gram counts as often as in the side that has
// it less often.
std::uint64_t clipped_matches(const std::vector<Ngram>& answer,
                              const std::vector<Ngram>& reference) {
  std::vector<Ngram> matches;
  std::ranges::set_intersection(answer, reference, std::back_inserter(matches));
  return matches.size();
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void Bleu::add(std::string_view answer, std::string_view reference) {
  const auto words = [this](std::string_view text) {
    return tokenize_13a(lower_ ? lower_case(text) : std::string(text));
  };
  add(words(answer), words(reference));
}

void Bleu::add(Words answer, Words reference) {
  NgramIds ids;
  const auto answer_ids = ids_of(answer, ids), reference_ids = ids_of(reference, ids);
  for (std::size_t order = 1; order <= kMostWords; ++order) {
    const auto ngrams = sorted_ngrams(answer_ids, order);
    ngrams_[order - 1] += ngrams.size();
    matches_[order - 1] += clipped_matches(ngrams, sorted_ngrams(reference_ids, order));
  }
  answer_words_ += answer.size();
  reference_words_ += reference.size();
  ++sentences_;
  if (answer_ids == reference_ids) ++exact_;
}

double Bleu::precision(std::size_t order) const {
  return share(matches_.at(order - 1), ngrams_.at(order - 1));
}

double Bleu::brevity_penalty() const {
  if (answer_words_ >= reference_words_) return 1;
  if (answer_words_ == 0) return 0;
  return std::exp(1 - static_cast<double>(reference_words_) / static_cast<double>(answer_words_));
}

double Bleu::exact_match() const { return share(exact_, sentences_); }

double Bleu::score() const {
  double logarithms = 0, unmatched = 1;
  for (std::size_t n = 0; n < kMostWords; ++n) {
    if (ngrams_[n] == 0 || matches_[0] == 0) return 0;
    if (matches_[n] == 0) unmatched *= 2;
    const double matches = matches_[n] == 0 ? 1 / unmatched : static_cast<double>(matches_[n]);
    logarithms += std::log(matches / static_cast<double>(ngrams_[n]));
  }
  return 100 * brevity_penalty() * std::exp(logarithms / kMostWords);
}

std::string Bleu::signature() const {
  return fmt::format("nrefs:1|case:{}|eff:no|tok:13a|smooth:exp", lower_ ? "lc" : "mixed");
}

std::string Bleu::text() const {
  return fmt::format("BLEU {:.2f} ({:.1f}/{:.1f}/{:.1f}/{:.1f}, brevity {:.3f}, {} sentences)",
                     score(), 100 * precision(1), 100 * precision(2), 100 * precision(3),
                     100 * precision(4), brevity_penalty(), sentences_);
}

}  // namespace skyline
