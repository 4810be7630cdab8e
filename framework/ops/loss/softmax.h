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
  float divisor = 0;    // 0: the number of rows or, with weights, the sum of their labels' weights
  float smoothing = 0;  // share of each label that is spread over all classes
};

// The loss f32 [1], and the probabilities f32 [N, K] that backward reads.
struct CrossEntropy {
  Tensor loss = {}, probabilities = {};
};

// Returns the sum over rows of -log softmax(logits)[row, label], divided by params.divisor; 0
// stands for the number of rows (the mean). With the number of sentences of a packed batch it is
// the loss a sentence. Logits f32 [N, K], labels i32 [N]. Subtracts each row's maximum first.
//
// With smoothing e and class weights w, f32 [K] and positive, a row of label y costs the sum over
// classes c of t_c * -log softmax(logits)[row, c], where t_c = e / K * w_c, and (1 - e) * w_y more
// for the label: PyTorch's CrossEntropyLoss(weight=w, label_smoothing=e), whose mean divides by the
// sum of w_y. Without weights all w are 1.
//
// Retains labels, weights and the probabilities, which are written over the logits if nobody else
// needs them; backward writes grad_logits over the probabilities. Workspace on CUDA: 8 N bytes.
// Throws ShapeError, std::invalid_argument on a negative divisor or a smoothing outside [0, 1) and,
// on the CPU, LabelError before anything is written; on a CUDA device such a label makes the loss
// NaN.
CrossEntropy cross_entropy(Context& context, Tensor logits, Tensor labels, Tensor weights = {},
                           SoftmaxCrossEntropyParams params = {});
// The loss of cross_entropy() without weights.
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
