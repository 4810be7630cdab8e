#pragma once

#include <optional>
#include <vector>

#include "framework/ops/recurrent/lstm.h"
#include "layers/layer.h"

namespace skyline {

// What a caller reads of an LSTM's output; the other tensors stay empty.
enum class LstmWanted { kAll, kOutputs, kLastState };

// Chainer's NStepLSTM: `layers` layers of `units` units over packed sentences, with dropout on the
// inputs of all layers but the first. Parameters of layer l, counted from 0: "w<l>" [4 units, in],
// "u<l>" [4 units, units], "bias_w<l>" and "bias_u<l>" [4 units]; gates i f g o. Weights are normal
// with standard deviation sqrt(1 / fan-in), biases zero at first.
class Lstm : public Layer {
 public:
  struct Options {
    std::int64_t in = 1;
    std::int64_t units = 1;
    std::int64_t layers = 1;
    float dropout = 0;
    // Word by word, as define-by-run programs write it: four ops a word and layer or more, so that
    // the number of requests grows with the longest sentence, and nothing is made that nobody
    // wants. Else one op for everything.
    bool unroll = false;
  };

  Lstm(Context& context, std::string_view name, const Options& options);

  // x [R, in], packed as `shape` says; without a state, sentences start at zeros.
  LstmOutput operator()(Context& context, Tensor x, std::optional<LstmState> state,
                        const PackedShape& shape, LstmWanted wanted = LstmWanted::kAll) const;

 private:
  std::vector<LstmWeights> weights() const;

  Options options_;
};

}  // namespace skyline
