#pragma once

#include <cstdint>
#include <stdexcept>

#include "framework/context.h"

// Rows of logits: their loss, their log softmax and their largest column.

namespace skyline {

// A class label outside [0, classes): "[softmax_cross_entropy] label of row 3, got 12, expected 0
// to 9".
class LabelError : public std::out_of_range {
 public:
  LabelError(std::int64_t row, std::int32_t label, std::int64_t classes);
  std::int64_t row() const noexcept { return row_; }
  std::int32_t label() const noexcept { return label_; }
  std::int64_t classes() const noexcept { return classes_; }

 private:
  std::int64_t row_;
  std::int32_t label_;
  std::int64_t classes_;
};

struct SoftmaxCrossEntropyParams {
  float divisor = 0;  // 0: the number of rows
};

// Returns the sum over rows of -log softmax(logits)[row, label], divided by params.divisor; 0
// stands for the number of rows (the mean). With the number of sentences of a packed batch it is
// the loss a sentence. Logits f32 [N, K], labels i32 [N], loss f32 [1]. Subtracts each row's
// maximum first. Retains labels and the probabilities [N, K], which are written over the logits if
// nobody else needs them; backward writes grad_logits over the probabilities. Workspace on CUDA: 8
// N bytes. Throws ShapeError, std::invalid_argument on a negative divisor and, on the CPU,
// LabelError before anything is written; on a CUDA device such a label makes the loss NaN.
Tensor softmax_cross_entropy(Context& context, Tensor logits, Tensor labels,
                             SoftmaxCrossEntropyParams params = {});

// log softmax of each row of f32 [R, V]; beam search adds these up. Writes over the logits if
// nobody else needs them. Not differentiable: training uses softmax_cross_entropy. Throws
// ShapeError.
Tensor log_softmax(Context& context, Tensor logits);

// Returns the column of each row's largest element, the first of equal ones: f32 [R, V] to i32 [R].
// NaN is never the largest; a row of only NaN gives 0. Not differentiable. Throws ShapeError.
Tensor argmax(Context& context, Tensor x);

}  // namespace skyline
