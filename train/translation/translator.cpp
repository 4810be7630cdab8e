#include "train/translation/translator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "data/text/vocabulary.h"
#include "framework/ops/connection/embedding.h"
#include "framework/ops/loss/softmax.h"
#include "train/run/step_scope.h"

namespace skyline {
namespace {

using Ids = std::vector<std::int32_t>;

Tensor upload_ids(Context& context, const Ids& ids, std::string_view name) {
  return context.upload({{static_cast<std::int64_t>(ids.size())}, DType::kInt32}, ids.data(), name);
}

// Reorders answers from the packed order to the batch's and cuts them at the end of sentence.
std::vector<Ids> in_batch_order(std::vector<Ids> answers, const Ids& order) {
  std::vector<Ids> result(answers.size());
  for (std::size_t k = 0; k < answers.size(); ++k) {
    Ids& answer = answers[k];
    answer.erase(std::ranges::find(answer, kEndOfSentence), answer.end());
    result[static_cast<std::size_t>(order[k])] = std::move(answer);
  }
  return result;
}

std::vector<Ids> likeliest_words(Context& context, const Seq2Seq& model, LstmState state,
                                 std::size_t sentences, const TranslatorOptions& options) {
  const PackedShape one_word({static_cast<std::int32_t>(sentences)});
  std::vector<Ids> answers(sentences);
  std::vector<bool> ended(sentences, false);
  Ids host(sentences, kEndOfSentence);
  Tensor words = upload_ids(context, host, "words");
  for (std::int64_t i = 0; i < options.max_words; ++i) {
    LstmOutput decoded = model.decode(context, std::move(state), std::move(words), one_word);
    state = {std::move(decoded.h), std::move(decoded.c)};
    words = argmax(context, model.logits(context, std::move(decoded.y)));
    context.download(words, host.data());
    for (std::size_t k = 0; k < sentences; ++k) {
      answers[k].push_back(host[k]);
      if (host[k] == kEndOfSentence) ended[k] = true;
    }
    if (options.stop_at_end && std::ranges::find(ended, false) == ended.end()) break;
  }
  return answers;
}

struct Hypothesis {
  double log_probability = 0;
  Ids words;

  double score(double length_penalty) const {
    return log_probability / std::pow(static_cast<double>(words.size()), length_penalty);
  }
};

// The beams of all sentences of a batch, `width` rows per sentence.
class Beams {
 public:
  Beams(std::size_t sentences, const TranslatorOptions& options)
      : options_(options),
        width_(static_cast<std::size_t>(options.beam)),
        open_(sentences * width_),
        ended_(sentences) {
    // Each sentence starts with one open hypothesis; its other rows cannot win yet.
    for (std::size_t row = 0; row < open_.size(); ++row) {
      if (row % width_ > 0) open_[row].log_probability = kImpossible;
    }
  }

  // Extends the hypotheses by one word, from log probabilities [rows, words]. Returns the row that
  // each new hypothesis continues, and its last word.
  std::pair<Ids, Ids> advance(const std::vector<float>& log_probabilities) {
    std::vector<Hypothesis> next(open_.size());
    Ids parents(open_.size()), last(open_.size(), kEndOfSentence);
    std::iota(parents.begin(), parents.end(), 0);
    const std::size_t words = log_probabilities.size() / open_.size();
    for (std::size_t sentence = 0; sentence < ended_.size(); ++sentence) {
      if (done(sentence)) continue;
      std::size_t place = sentence * width_;
      for (const Candidate& candidate : best_candidates(sentence, log_probabilities, words)) {
        Hypothesis longer = open_[candidate.row];
        longer.log_probability = candidate.log_probability;
        longer.words.push_back(candidate.word);
        if (candidate.word == kEndOfSentence) {
          ended_[sentence].push_back(std::move(longer));
        } else if (place < (sentence + 1) * width_) {
          parents[place] = static_cast<std::int32_t>(candidate.row);
          last[place] = candidate.word;
          next[place++] = std::move(longer);
        }
      }
      for (; place < (sentence + 1) * width_; ++place) next[place].log_probability = kImpossible;
    }
    open_ = std::move(next);
    return {std::move(parents), std::move(last)};
  }

  bool done() const {
    for (std::size_t sentence = 0; sentence < ended_.size(); ++sentence) {
      if (!done(sentence)) return false;
    }
    return true;
  }

  // Returns the best hypothesis of each sentence; an unfinished one if none has ended.
  std::vector<Ids> best() const {
    std::vector<Ids> answers;
    for (std::size_t sentence = 0; sentence < ended_.size(); ++sentence) {
      const auto first = open_.begin() + static_cast<std::ptrdiff_t>(sentence * width_);
      std::vector<Hypothesis> candidates = ended_[sentence];
      if (candidates.empty()) candidates.assign(first, first + options_.beam);
      answers.push_back(std::ranges::max_element(candidates, {}, [this](const Hypothesis& one) {
                          return one.score(options_.length_penalty);
                        })->words);
    }
    return answers;
  }

 private:
  static constexpr double kImpossible = -std::numeric_limits<double>::infinity();

  struct Candidate {
    double log_probability;
    std::size_t row;
    std::int32_t word;
  };

  bool done(std::size_t sentence) const { return ended_[sentence].size() >= width_; }

  // Returns the best 2 · width candidates: at most one per row ends the sentence, so `width` others
  // can go on. Ties go to the lower row, then the lower word.
  std::vector<Candidate> best_candidates(std::size_t sentence, const std::vector<float>& log,
                                         std::size_t words) const {
    std::vector<Candidate> candidates;
    for (std::size_t row = sentence * width_; row < (sentence + 1) * width_; ++row) {
      if (open_[row].log_probability == kImpossible) continue;
      for (std::size_t word = 0; word < words; ++word) {
        candidates.push_back({open_[row].log_probability + double{log[row * words + word]}, row,
                              static_cast<std::int32_t>(word)});
      }
    }
    const auto better = [](const Candidate& a, const Candidate& b) {
      if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
      return a.row != b.row ? a.row < b.row : a.word < b.word;
    };
    const std::size_t kept = std::min(candidates.size(), 2 * width_);
    const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(candidates.begin(), middle, candidates.end(), better);
    candidates.erase(middle, candidates.end());
    return candidates;
  }

  TranslatorOptions options_;
  std::size_t width_;
  std::vector<Hypothesis> open_;                // one per row
  std::vector<std::vector<Hypothesis>> ended_;  // per sentence
};

// Selects the rows `parents` of each layer's states.
LstmState chosen(Context& context, LstmState state, const Ids& parents, std::int64_t layers) {
  const auto rows_before = static_cast<std::int32_t>(state.h.shape()[0] / layers);
  Ids rows;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    for (const std::int32_t parent : parents) rows.push_back(layer * rows_before + parent);
  }
  const Tensor indices = upload_ids(context, rows, "parents");
  Tensor h = embedding(context, indices, std::move(state.h));
  return {std::move(h), embedding(context, indices, std::move(state.c))};
}

std::vector<Ids> beam_search(Context& context, const Seq2Seq& model, LstmState state,
                             std::size_t sentences, const TranslatorOptions& options) {
  Beams beams(sentences, options);
  const std::size_t rows = sentences * static_cast<std::size_t>(options.beam);
  const PackedShape one_word({static_cast<std::int32_t>(rows)});
  Ids parents(rows), last(rows, kEndOfSentence);
  for (std::size_t row = 0; row < rows; ++row) {
    // Every row of a beam starts from its sentence's encoder state.
    parents[row] = static_cast<std::int32_t>(row / static_cast<std::size_t>(options.beam));
  }
  std::vector<float> host;
  for (std::int64_t i = 0; i < options.max_words && !beams.done(); ++i) {
    state = chosen(context, std::move(state), parents, model.shape().layers);
    LstmOutput decoded =
        model.decode(context, std::move(state), upload_ids(context, last, "words"), one_word);
    state = {std::move(decoded.h), std::move(decoded.c)};
    Tensor logits = model.logits(context, std::move(decoded.y));
    host.resize(static_cast<std::size_t>(logits.shape().elements()));
    context.download(log_softmax(context, std::move(logits)), host.data());
    std::tie(parents, last) = beams.advance(host);
  }
  return beams.best();
}

}  // namespace

std::vector<std::vector<std::int32_t>> translate(Context& context, const Seq2Seq& model,
                                                 const PackedWords& source,
                                                 const TranslatorOptions& options) {
  const ModeScope mode(context, Mode::kInference);
  LstmState state = model.encode(context, upload_ids(context, source.words, "source"),
                                 PackedShape(source.batch_sizes));
  const auto search = options.beam > 1 ? beam_search : likeliest_words;
  return in_batch_order(search(context, model, std::move(state), source.order.size(), options),
                        source.order);
}

}  // namespace skyline
