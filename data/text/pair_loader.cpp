#include "data/text/pair_loader.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "data/text/vocabulary.h"

namespace skyline {
namespace {

using Sentences = std::span<const std::vector<std::int32_t>>;

constexpr std::size_t kMostWords = std::numeric_limits<std::int32_t>::max();

std::size_t at(std::span<const std::int32_t> values, std::size_t index) {
  return static_cast<std::size_t>(values[index]);
}

std::vector<std::int32_t> copied(std::span<const std::int32_t> sentence) {
  return {sentence.begin(), sentence.end()};
}

std::size_t checked_batches_per_epoch(const SentencePairs& data, const PairLoaderOptions& options) {
  const std::size_t size = data.source.size();
  if (size != data.target.size()) {
    throw DataError(data.name, "target sentences", std::to_string(data.target.size()),
                    std::to_string(size) + ", one for each source sentence");
  }
  if (options.bucket && options.bucket_batches == 0) {
    throw DataError(data.name, "batches of a bucket window", "0", "at least 1");
  }
  return batches_per_epoch(
      data.name, {size, options.batch_size, options.drop_last, options.start, options.step_batches},
      "pairs");
}

}  // namespace

PackedWords pack_lengths(std::span<const std::int32_t> lengths, std::int32_t word) {
  PackedWords packed;
  std::size_t words = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1) {
      throw DataError("batch", "words of sentence " + std::to_string(i), std::to_string(lengths[i]),
                      "at least 1");
    }
    words += at(lengths, i);
  }
  if (words == 0) throw DataError("batch", "no sentence to pack");
  if (words > kMostWords) {
    throw DataError("batch", "words", std::to_string(words),
                    "at most " + std::to_string(kMostWords));
  }
  packed.words.assign(words, word);
  packed.order.resize(lengths.size());
  std::iota(packed.order.begin(), packed.order.end(), 0);
  std::ranges::stable_sort(packed.order, std::greater<>(), [lengths](std::int32_t index) {
    return at(lengths, static_cast<std::size_t>(index));
  });
  std::size_t count = lengths.size();  // of sentences longer than t
  for (std::size_t t = 0;; ++t) {
    while (count > 0 && at(lengths, at(packed.order, count - 1)) <= t) --count;
    if (count == 0) return packed;
    packed.batch_sizes.push_back(static_cast<std::int32_t>(count));
  }
}

PackedWords pack(Sentences sentences) {
  std::vector<std::int32_t> lengths;
  for (const auto& sentence : sentences) {
    lengths.push_back(static_cast<std::int32_t>(std::min(sentence.size(), kMostWords)));
  }
  PackedWords packed = pack_lengths(lengths, 0);
  auto word = packed.words.begin();
  for (std::size_t t = 0; t < packed.batch_sizes.size(); ++t) {
    for (std::size_t k = 0; k < at(packed.batch_sizes, t); ++k) {
      *word++ = sentences[at(packed.order, k)][t];
    }
  }
  return packed;
}

std::vector<std::int32_t> rows_between(std::span<const std::int32_t> from,
                                       std::span<const std::int32_t> to) {
  if (from.size() != to.size()) {
    throw DataError("batch", "sentences of the other order", std::to_string(to.size()),
                    std::to_string(from.size()));
  }
  std::vector<std::int32_t> place(from.size());  // place of each sentence in `from`
  for (std::size_t k = 0; k < from.size(); ++k) place[at(from, k)] = static_cast<std::int32_t>(k);
  std::vector<std::int32_t> rows(to.size());
  for (std::size_t k = 0; k < to.size(); ++k) rows[k] = place[at(to, k)];
  return rows;
}

PackedWords pack_source(std::vector<std::vector<std::int32_t>> sentences, bool reverse_source) {
  if (reverse_source) {
    for (std::vector<std::int32_t>& sentence : sentences) std::ranges::reverse(sentence);
  }
  return pack(sentences);
}

PairBatch make_pair_batch(const SentencePairs& data, std::span<const std::size_t> pairs,
                          bool reverse_source) {
  std::vector<std::vector<std::int32_t>> sources, inputs, outputs;
  for (const std::size_t pair : pairs) {
    const auto target = data.target[pair];
    if (target.empty()) {
      throw DataError(data.name, "words of target sentence " + std::to_string(pair), "0",
                      "at least 1");
    }
    sources.push_back(copied(data.source[pair]));
    inputs.push_back({kEndOfSentence});
    inputs.back().insert(inputs.back().end(), target.begin(), target.end());
    outputs.push_back(copied(target));
    outputs.back().push_back(kEndOfSentence);
  }
  PairBatch batch;
  batch.source = pack_source(std::move(sources), reverse_source);
  batch.target = pack(inputs);
  batch.target_out = pack(outputs).words;
  batch.source_to_target = rows_between(batch.source.order, batch.target.order);
  batch.pairs.assign(pairs.begin(), pairs.end());
  return batch;
}

PairLoader::PairLoader(const SentencePairs& data, PairLoaderOptions options, RandomBits random)
    : data_(data),
      options_(options),
      random_(std::move(random)),
      batches_per_epoch_(checked_batches_per_epoch(data, options)),
      position_(within_epoch(options.start, batches_per_epoch_)) {}

PairBatch PairLoader::next() {
  if (order_.empty() || ordered_epoch_ != position_.epoch) order_epoch();
  const std::size_t first = firsts_[position_.batch + options_.share.rank];
  const std::size_t size = std::min(options_.batch_size, order_.size() - first);
  PairBatch batch =
      make_pair_batch(data_, std::span(order_).subspan(first, size), options_.reverse_source);
  batch.position = position_;
  position_ = options_.share.after(position_, batches_per_epoch_);
  return batch;
}

void PairLoader::order_epoch() {
  ordered_epoch_ = position_.epoch;
  order_ = options_.shuffle ? shuffled_order(data_.source.size(), ordered_epoch_, random_)
                            : ascending_order(data_.source.size());
  // Cut before sorting: after it, the longest pairs would be the ones left out.
  order_.resize(std::min(order_.size(), batches_per_epoch_ * options_.batch_size));
  firsts_.resize(batches_per_epoch_);
  for (std::size_t i = 0; i < firsts_.size(); ++i) firsts_[i] = i * options_.batch_size;
  if (!options_.bucket) return;
  sort_windows();
  if (options_.shuffle) shuffle_batches();
}

void PairLoader::sort_windows() {
  const auto lengths = [this](std::size_t pair) {
    return std::pair(data_.target[pair].size(), data_.source[pair].size());
  };
  // A window is at most the whole data, so its size cannot overflow.
  const std::size_t batches = std::min(options_.bucket_batches, batches_per_epoch_);
  const std::size_t window = batches * options_.batch_size;
  for (std::size_t first = 0; first < order_.size(); first += window) {
    const std::size_t size = std::min(window, order_.size() - first);
    std::ranges::stable_sort(std::span(order_).subspan(first, size), std::less<>(), lengths);
  }
}

void PairLoader::shuffle_batches() {
  const auto order =
      shuffled_order(firsts_.size(), ordered_epoch_, random_, DataStream::kBatchOrder);
  for (std::size_t i = 0; i < firsts_.size(); ++i) firsts_[i] = order[i] * options_.batch_size;
}

}  // namespace skyline
