#pragma once

#include <optional>
#include <vector>

#include "framework/context.h"
#include "framework/ops/recurrent/packed_shape.h"

// Long short-term memory: whole packed batches in one op, or one word of one layer.

namespace skyline {

// One layer's parameters; gates in the order i f g o, a block of H rows each.
struct LstmWeights {
  Tensor w;       // [4H, in]: multiplies the layer's input
  Tensor u;       // [4H, H]: multiplies the layer's output of the word before
  Tensor bias_w;  // [4H]
  Tensor bias_u;  // [4H]
};

// The state of all layers and sentences: row l * B + k is layer l of the k-th longest sentence.
struct LstmState {
  Tensor h;  // [L * B, H]
  Tensor c;  // [L * B, H]
};

struct LstmOutput {
  Tensor y;  // [R, H]: the last layer's output, packed like x
  Tensor h;  // [L * B, H]: each sentence's output after its last word, layer by layer
  Tensor c;  // [L * B, H]: its cell at that point
};

struct LstmParams {
  float dropout = 0;  // of the inputs of layers 2 … L, in training
};

// L layers of long short-term memory over a packed batch (Hochreiter and Schmidhuber 1997 with
// forget gates, as cuDNN, PyTorch and Chainer's NStepLSTM compute it), whole sequences in one op:
//
//   i, f, o = sigmoid(W x + b_w + U h + b_u), g = tanh(…)    h, c of the word before
//   c = f c + i g,  h = o tanh(c)
//
//   x       [R, in], R = shape.rows(), packed for B = shape.sentences() sentences
//   state   where each sentence starts; zeros if absent
//   layers  L = layers.size(); layer 1 takes `in` features, the others H
//
// Retains x, w, u, the initial state, y and a reserve of (5 L + L - 1) R H floats: activated gates,
// cells, and the outputs of all layers but the last. Workspace: at most one packed weight, with
// dropout R H floats, and in backward 5 R H floats of gradients. If no gradient is needed, there is
// no reserve and the workspace holds one layer's gates and cells and the outputs of two.
// Dropout masks follow DropoutMask, with one stream number a layer, and are drawn again in
// backward. Throws ShapeError, and std::invalid_argument unless 0 <= dropout < 1 or if there is no
// layer.
LstmOutput lstm(Context& context, Tensor x, std::optional<LstmState> state,
                const std::vector<LstmWeights>& layers, const PackedShape& shape,
                LstmParams params = {});

struct LstmCellOutput {
  Tensor h;  // [N, H]
  Tensor c;  // [N, H]
};

// One word of one layer of long short-term memory, from the sums before the nonlinearities. An LSTM
// that is unrolled word by word calls it.
//
//   gates  [N, 4H], i f g o: W x + b_w + U h + b_u
//   c      [N, H], the cell one word before
//
//   c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c')
//
// Retains c, c' and the activated gates, which are written over `gates` if nobody else needs them;
// backward writes grad_gates over those. Throws ShapeError.
LstmCellOutput lstm_cell(Context& context, Tensor gates, Tensor c);

}  // namespace skyline
