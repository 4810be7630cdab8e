#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/shape.h"
#include "models/models.h"
#include "models/seq2seq.h"

namespace skyline {

// One op of a model's forward pass.
struct LayerSummary {
  std::string layer;  // "conv2_1.conv1"; empty for an op outside of layers
  std::string op;
  Shape output;
  std::int64_t parameters = 0;
  std::int64_t multiply_adds = 0;  // of convolutions and matrix products, biases not counted
  bool auxiliary = false;          // of a head that is there in training only
};

// A model's ops in the order of its forward pass of `batch_size` images, auxiliary heads included;
// figures are for the whole batch. Nothing is computed and no memory is taken. Throws ShapeError.
std::vector<LayerSummary> summarize(const ModelEntry& entry, const ModelShape& shape,
                                    std::int64_t batch_size = 1);
// The same for one pair of sentences of so many words, up to the logits. As always, the decoder
// reads one word more than a sentence has.
std::vector<LayerSummary> summarize(const Seq2SeqShape& shape, std::int64_t sentence_words);

}  // namespace skyline
