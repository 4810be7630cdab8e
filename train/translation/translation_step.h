#pragma once

#include <cstddef>
#include <span>

#include "data/text/pair_loader.h"
#include "framework/context.h"
#include "models/seq2seq.h"

namespace skyline {

// Names the shapes of a batch: batches with the same numbers of sentences at every word, on both
// sides, make the same requests.
ShapeKey translation_key(const PairBatch& batch, StepKind kind = StepKind::kTraining);

// Bytes on the device for the words of a batch, each upload rounded.
std::size_t input_bytes(const PairBatch& batch);

// The forward pass of a batch up to its loss f32 [1]: the sum of the words' cross-entropies over
// the number of sentences, as the paper's example has it.
Tensor translation_loss(Context& context, const Seq2Seq& model, const PairBatch& batch);

// One inference step: the forward pass and its loss, which is read back, as a validation's
// perplexity computes it. Throws WordError, LabelError, OutOfMemory.
float translation_inference_step(Context& context, const Seq2Seq& model, const PairBatch& batch);

// A batch of unknown words, for dry runs: only its lengths matter. As always, the decoder reads one
// word more than a target sentence has.
// Throws DataError when there is no sentence or one is empty.
PairBatch batch_of_lengths(std::span<const std::int32_t> source_lengths,
                           std::span<const std::int32_t> target_lengths);

}  // namespace skyline
