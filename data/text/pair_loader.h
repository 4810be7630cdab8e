#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/random.h"
#include "data/text/packed_words.h"
#include "data/text/sentence_list.h"

namespace skyline {

// Encoded sentence pairs: vocabulary ids, no marks. As many of each, none empty.
struct SentencePairs {
  std::string name;  // in errors
  SentenceList source, target;
};

// B pairs, each side packed in its own order.
struct PairBatch {
  PackedWords source;  // reversed where that was asked for
  PackedWords target;  // its words are what the decoder reads: end of sentence + y
  // R of the target: what the decoder should answer in the place of each word: y + end of sentence.
  std::vector<std::int32_t> target_out;
  // B: y[k] = x[rows[k]] takes states from the source's order to the target's.
  std::vector<std::int32_t> source_to_target;
  std::vector<std::size_t> pairs;  // B indices of the pairs in the data, in the batch's order
  BatchPosition position;

  std::size_t size() const noexcept { return pairs.size(); }
};

// Packs the pairs with these indices, in this order. The position is left as it is by default.
// Throws DataError when a sentence is empty.
PairBatch make_pair_batch(const SentencePairs& data, std::span<const std::size_t> pairs,
                          bool reverse_source = true);

// Source sentences without a target, for translation.
PackedWords pack_source(std::vector<std::vector<std::int32_t>> sentences,
                        bool reverse_source = true);

struct PairLoaderOptions {
  std::size_t batch_size = 64;
  bool shuffle = true;  // else in the order of the data
  // Sort windows of `bucket_batches` batches of the (shuffled) order by length, target first, then
  // source; the batches then come in shuffled order too, where that was asked for. A batch's
  // sentences are then about as long as each other.
  bool bucket = false;
  std::size_t bucket_batches = 64;
  bool drop_last = false;  // leave out the pairs that do not fill a batch; else a smaller one
  bool reverse_source = true;
  BatchPosition start;  // the first batch to give
};

// Gives the batches of one epoch after another, without end. A batch depends on the data, the
// options but `start`, random's seed and its position alone, so a run that starts at a saved
// position continues as if it had never stopped. Made when asked for, without a thread: packing
// costs far less than a step. The data must outlive the loader.
class PairLoader {
 public:
  // Throws DataError when there are no pairs, both sides differ in number, the batch size is 0 or
  // larger than the data, bucket_batches is 0, or the start is past the epoch's end.
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
  std::vector<std::size_t> order_;   // of epoch ordered_epoch_; empty before the first batch
  std::vector<std::size_t> firsts_;  // of batch i: where it begins in order_
  std::uint64_t ordered_epoch_ = 0;
};

}  // namespace skyline
