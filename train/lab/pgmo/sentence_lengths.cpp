#include "train/lab/pgmo/sentence_lengths.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "framework/philox.h"
#include "train/translation/translation_step.h"

namespace skyline {
namespace {

constexpr double kMeanSource = 25.1, kMeanLogRatio = 0.150, kDeviationOfLogRatio = 0.195;

// Draws the source and target length of one pair, before any rejection.
std::pair<double, double> drawn_pair(const Philox& random, std::uint64_t number,
                                     std::uint64_t draw) {
  const auto words = random(number, 2 * draw), more = random(number, 2 * draw + 1);
  double exponentials = 0;  // sum of three exponential variables of mean 1: Erlang, shape 3
  for (int i = 0; i < 3; ++i) {
    exponentials -= std::log1p(-double{uniform_float(words[static_cast<std::size_t>(i)])});
  }
  const double source = kMeanSource / 3 * exponentials;
  const double log_ratio =
      kMeanLogRatio + kDeviationOfLogRatio * double{normal_pair(more[0], more[1])[0]};
  return {source, source * std::exp(log_ratio)};
}

}  // namespace

SentenceLengths drawn_lengths(std::int64_t pairs, std::uint64_t number, std::int32_t most_words) {
  const Philox random{.seed = 0};
  SentenceLengths lengths;
  for (std::uint64_t draw = 0; std::ssize(lengths.source) < pairs; ++draw) {
    const auto [source, target] = drawn_pair(random, number, draw);
    const long source_words = std::lround(source), target_words = std::lround(target);
    if (std::min(source_words, target_words) < 1) continue;
    if (std::max(source_words, target_words) > most_words) continue;
    lengths.source.push_back(static_cast<std::int32_t>(source_words));
    lengths.target.push_back(static_cast<std::int32_t>(target_words));
  }
  return lengths;
}

std::vector<PairBatch> drawn_mini_batches(std::int64_t count, std::int64_t pairs) {
  std::vector<PairBatch> batches;
  for (std::int64_t i = 0; i < count; ++i) {
    const SentenceLengths lengths = drawn_lengths(pairs, static_cast<std::uint64_t>(i));
    batches.push_back(batch_of_lengths(lengths.source, lengths.target));
  }
  return batches;
}

}  // namespace skyline
