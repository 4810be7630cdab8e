#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/ops/loss/linear_cross_entropy.h"
#include "layers/linear.h"
#include "layers/lstm.h"
#include "models/model.h"

namespace skyline {

// The name of the model that translates.
inline constexpr std::string_view kSeq2Seq = "seq2seq";

struct Seq2SeqShape {
  std::int64_t source_words = 40'002;  // vocabularies, unknown word and end of sentence included
  std::int64_t target_words = 40'002;
  std::int64_t layers = 3;
  std::int64_t units = 1024;
  std::int64_t embedding = 1024;
  float dropout = 0.1f;
  bool unroll = false;  // word by word, see Lstm::Options
  bool operator==(const Seq2SeqShape&) const = default;
};

// Translation by two LSTMs without attention (Sutskever, Vinyals, Le 2014, "Sequence to sequence
// learning with neural networks", arXiv:1409.3215), as in Chainer's example, which PGMO ran:
//
//   source - embed_x - encoder ─(h, c)→ decoder - W - logits
//   target - embed_y ────────────────────↗
//
// 173,306,946 parameters by default. Batches are packed (see PackedShape), each side in its own
// order of sentences.
class Seq2Seq : public Network {
 public:
  Seq2Seq(Context& context, const Seq2SeqShape& shape);

  const Seq2SeqShape& shape() const noexcept { return shape_; }

  // Returns the encoder's last states for source words i32 [R]: [layers * B, units], in the
  // source's order.
  LstmState encode(Context& context, Tensor source, const PackedShape& packed) const;

  // Reorders the sentences of a state: sentence k of the result is sentence sentences[k] of
  // `state`.
  LstmState reordered(Context& context, LstmState state,
                      const std::vector<std::int32_t>& sentences) const;

  // Returns the decoder's output after each of the target words i32 [R], starting from states in
  // the target's order.
  LstmOutput decode(Context& context, LstmState state, Tensor target, const PackedShape& packed,
                    LstmWanted wanted = LstmWanted::kAll) const;
  // Returns the logits [R, target_words] of the decoder's outputs y [R, units].
  Tensor logits(Context& context, Tensor y) const;
  // Returns the loss of these logits, given the words i32 [R] that they should tell: by
  // linear_cross_entropy() where that saves bytes.
  Tensor loss(Context& context, Tensor y, Tensor words, const SoftmaxCrossEntropyParams& params,
              bool accumulate = false) const;

 private:
  Seq2SeqShape shape_;
  Embedding embed_x_, embed_y_;
  Lstm encoder_, decoder_;
  Linear w_;
};

}  // namespace skyline
