#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/batch_order.h"
#include "data/host.h"
#include "data/text/parallel_text.h"

// Batches of sentence pairs, packed without padding.

namespace skyline {

// B sentences without padding, time-major, laid out like PyTorch's PackedSequence and as cuDNN
// wants them: sentences are sorted by length, longest first, ties by position; then come all first
// words, all second words, and so on. R = Σ lengths, T = the longest length.
struct PackedWords {
  std::vector<std::int32_t> words;        // R ids
  std::vector<std::int32_t> batch_sizes;  // T; [t]: number of sentences longer than t
  std::vector<std::int32_t> order;        // B; [k]: batch position of the k-th longest sentence

  bool operator==(const PackedWords&) const = default;
};

// Throws DataError when there is no sentence, a sentence is empty (named by its position), or there
// are more than 2^31 − 1 words. Time O(R + B log B).
PackedWords pack(std::span<const std::vector<std::int32_t>> sentences);
// Packs sentences of these lengths whose words are all `word`.
PackedWords pack_lengths(std::span<const std::int32_t> lengths, std::int32_t word);

// Returns rows such that y[k] = x[rows[k]] moves states from order `from` to order `to`: rows[k] is
// the place in `from` of the sentence at place k of `to`. Both are permutations of 0 … B − 1;
// throws DataError when their sizes differ.
std::vector<std::int32_t> rows_between(std::span<const std::int32_t> from,
                                       std::span<const std::int32_t> to);

// Encoded sentence pairs: vocabulary ids without marks. Both sides have the same number of
// sentences, none empty.
struct SentencePairs {
  std::string name;  // for errors
  SentenceList source, target;
};

// B pairs, each side packed in its own order.
struct PairBatch {
  PackedWords source;  // reversed if the options say so
  PackedWords target;  // the decoder's input: end of sentence + y
  // R of the target: the decoder's expected output for each input word: y + end of sentence.
  std::vector<std::int32_t> target_out;
  // B: y[k] = x[source_to_target[k]] moves states from the source's order to the target's.
  std::vector<std::int32_t> source_to_target;
  std::vector<std::size_t> pairs;  // B indices of pairs in the data, in batch order
  BatchPosition position;

  std::size_t size() const noexcept { return pairs.size(); }
};

// Packs the pairs with these indices, in this order; the position keeps its default. Throws
// DataError when a sentence is empty.
PairBatch make_pair_batch(const SentencePairs& data, std::span<const std::size_t> pairs,
                          bool reverse_source = true);

// Packs source sentences without targets, for translation.
PackedWords pack_source(std::vector<std::vector<std::int32_t>> sentences,
                        bool reverse_source = true);

struct PairLoaderOptions {
  std::size_t batch_size = 64;
  bool shuffle = true;  // otherwise in the order of the data
  // Sort windows of `bucket_batches` batches by target length, then source length, so that the
  // sentences of a batch have about the same length. With `shuffle`, the batches are shuffled too.
  bool bucket = false;
  std::size_t bucket_batches = 64;
  bool drop_last = false;  // leave out the pairs that do not fill a batch
  bool reverse_source = true;
  BatchPosition start;           // the first batch to return
  std::size_t step_batches = 1;  // leave out the batches that do not fill a step of so many
  BatchShare share;  // the batches to return, if others read the rest; steps have whole shares
};

// Returns the batches of one epoch after another, without end. A batch depends only on the data,
// the options except `start`, random's seed and its position, so a run that starts at a saved
// position continues as if it had never stopped. Batches are made on demand, without a thread:
// packing costs far less than a step. The data must outlive the loader.
class PairLoader {
 public:
  // Throws DataError when there are no pairs, the two sides differ in number, the batch size is 0
  // or larger than the data, no step has its batches, bucket_batches is 0, or the start is past the
  // end of its epoch.
  PairLoader(const SentencePairs& data, PairLoaderOptions options, RandomBits random);

  std::size_t batches_per_epoch() const noexcept { return batches_per_epoch_; }
  PairBatch next();

 private:
  void order_epoch();
  void sort_windows();
  void shuffle_batches();

  const SentencePairs& data_;
  const PairLoaderOptions options_;
  const RandomBits random_;
  const std::size_t batches_per_epoch_;

  BatchPosition position_;
  std::vector<std::size_t> order_;   // for epoch ordered_epoch_; empty before the first batch
  std::vector<std::size_t> firsts_;  // [i]: where batch i begins in order_
  std::uint64_t ordered_epoch_ = 0;
};

}  // namespace skyline
