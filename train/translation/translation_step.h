#pragma once

#include "data/text/pair_loader.h"
#include "framework/context.h"
#include "models/seq2seq.h"
#include "train/optimizers/adam.h"

namespace skyline {

// Names the shapes of a batch: batches with the same numbers of sentences at every word, on both
// sides, make the same requests.
ShapeKey translation_key(const PairBatch& batch);

struct TranslationStepParams {
  AdamParams adam;
  float clip = 0;  // largest norm of all gradients; 0: no limit
};

// The forward pass of a batch up to its loss f32 [1], the sum of the words' cross-entropies over
// the number of sentences, as the paper's example has it.
Tensor translation_loss(Context& context, const Seq2Seq& model, const PairBatch& batch);

// One whole training step: forward, the loss read back, backward, update; returns the loss. Every
// value's last holder is an op, so that the recorded trace is the simulated one. In a dry run the
// words are not read and the loss is 0. Throws LossNotFinite before any parameter has changed;
// WordError, LabelError, OutOfMemory.
float translation_training_step(Context& context, const Seq2Seq& model, const Adam& optimizer,
                                const PairBatch& batch, const TranslationStepParams& params);

// A batch whose words are all unknown, for dry runs: only its lengths matter. As ever, the decoder
// reads one word more than a target sentence has.
// Throws DataError when there is no sentence or one is empty.
PairBatch batch_of_lengths(std::span<const std::int32_t> source_lengths,
                           std::span<const std::int32_t> target_lengths);

}  // namespace skyline
