#pragma once

#include "framework/context.h"

namespace skyline {

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
