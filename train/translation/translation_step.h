#pragma once

#include <cstddef>
#include <span>

#include "data/text/pair_loader.h"
#include "framework/context.h"
#include "models/seq2seq.h"

namespace skyline {

// Returns the shape key of a batch. Batches with the same number of sentences at every word
// position, on both sides, make the same requests and get the same key.
ShapeKey translation_key(const PairBatch& batch, StepKind kind = StepKind::kTraining);
// Returns the key of a step that takes this batch after those of `before`.
ShapeKey translation_key(ShapeKey before, const PairBatch& batch);

// Device bytes for the words of a batch, each upload rounded.
std::size_t input_bytes(const PairBatch& batch);

// Runs the forward pass of a batch and returns its loss f32 [1]: the sum of the words'
// cross-entropies divided by the number of sentences, as in the paper's example. `accumulate`: see
// BackwardOptions.
Tensor translation_loss(Context& context, const Seq2Seq& model, const PairBatch& batch,
                        bool accumulate = false);

// Runs one inference step: the forward pass and its loss, which is read back, as for the perplexity
// of a validation. Throws WordError, LabelError, OutOfMemory.
float translation_inference_step(Context& context, const Seq2Seq& model, const PairBatch& batch);

// Makes a batch of unknown words for dry runs, where only lengths matter. As in any batch, the
// decoder reads one word more than the target sentence has. Throws DataError if there is no
// sentence or a source is empty.
PairBatch batch_of_lengths(std::span<const std::int32_t> source_lengths,
                           std::span<const std::int32_t> target_lengths);

}  // namespace skyline
