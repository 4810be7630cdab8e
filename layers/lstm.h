#pragma once

#include <optional>
#include <vector>

#include "framework/ops/recurrent/lstm.h"
#include "layers/layer.h"

namespace skyline {

// The parts of an LSTM's output that a caller needs; the other tensors stay empty.
enum class LstmWanted { kAll, kOutputs, kLastState };

// Chainer's NStepLSTM: `layers` layers of `units` units over packed sentences, with dropout on the
// inputs of all layers but the first. Parameters of layer l, counted from 0: "w<l>" [4 units, in],
// "u<l>" [4 units, units], "bias_w<l>" and "bias_u<l>" [4 units]; gates i f g o. Files
// call them weight_ih_l<l>, weight_hh_l<l>, bias_ih_l<l> and bias_hh_l<l>, as PyTorch's LSTM, whose
// gates have the same order. Weights are initially normal with standard deviation sqrt(1 / fan-in),
// biases zero.
class Lstm : public Layer {
 public:
  struct Options {
    std::int64_t in = 1;
    std::int64_t units = 1;
    std::int64_t layers = 1;
    float dropout = 0;
    // True: word by word, as define-by-run programs write it: at least four ops a word and layer,
    // so that the number of requests grows with the longest sentence, and nothing unneeded is
    // computed. False: one op for everything.
    bool unroll = false;
  };

  Lstm(Context& context, std::string_view name, const Options& options);

  // x [R, in], packed as in `shape`; without a state, sentences start at zeros.
  LstmOutput operator()(Context& context, Tensor x, std::optional<LstmState> state,
                        const PackedShape& shape, LstmWanted wanted = LstmWanted::kAll) const;

 private:
  std::vector<LstmWeights> weights() const;

  Options options_;
};

}  // namespace skyline
