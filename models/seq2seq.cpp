#include "models/seq2seq.h"

#include <utility>

#include "framework/ops/array/rows.h"

namespace skyline {
namespace {

Lstm::Options lstm_options(const Seq2SeqShape& shape) {
  return {.in = shape.embedding,
          .units = shape.units,
          .layers = shape.layers,
          .dropout = shape.dropout,
          .unroll = shape.unroll};
}

}  // namespace

Seq2Seq::Seq2Seq(Context& context, const Seq2SeqShape& shape)
    : shape_(shape),
      embed_x_(context, "embed_x", {.words = shape.source_words, .features = shape.embedding}),
      embed_y_(context, "embed_y", {.words = shape.target_words, .features = shape.embedding}),
      encoder_(context, "encoder", lstm_options(shape)),
      decoder_(context, "decoder", lstm_options(shape)),
      w_(context, "W", {.in = shape.units, .out = shape.target_words}) {
  own(embed_x_, embed_y_, encoder_, decoder_, w_);
}

LstmState Seq2Seq::encode(Context& context, Tensor source, const PackedShape& packed) const {
  LstmOutput output = encoder_(context, embed_x_(context, std::move(source)), std::nullopt, packed,
                               LstmWanted::kLastState);
  return {std::move(output.h), std::move(output.c)};
}

LstmState Seq2Seq::reordered(Context& context, LstmState state,
                             const std::vector<std::int32_t>& sentences) const {
  const LayerScope scope(context, "reorder");
  const auto batch = static_cast<std::int32_t>(sentences.size());
  std::vector<std::int32_t> rows;
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
    for (const std::int32_t sentence : sentences) rows.push_back(layer * batch + sentence);
  }
  Tensor h = permute_rows(context, std::move(state.h), rows);
  return {std::move(h), permute_rows(context, std::move(state.c), std::move(rows))};
}

LstmOutput Seq2Seq::decode(Context& context, LstmState state, Tensor target,
                           const PackedShape& packed, LstmWanted wanted) const {
  return decoder_(context, embed_y_(context, std::move(target)), std::move(state), packed, wanted);
}

Tensor Seq2Seq::logits(Context& context, Tensor y) const { return w_(context, std::move(y)); }

Tensor Seq2Seq::loss(Context& context, Tensor y, Tensor words,
                     const SoftmaxCrossEntropyParams& params, bool accumulate) const {
  if (!panels_save_bytes(y.shape(), w_.parameters()[0].value.shape())) {
    Tensor all = logits(context, std::move(y));
    const LayerScope scope(context, "loss");
    return softmax_cross_entropy(context, std::move(all), std::move(words), params);
  }
  const LayerScope scope(context, w_.name());
  return linear_cross_entropy(context,
                              {.x = std::move(y),
                               .weight = w_.parameters()[0].value,
                               .bias = w_.parameters()[1].value,
                               .labels = std::move(words),
                               .accumulate = accumulate},
                              params);
}

}  // namespace skyline
