#pragma once

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// Mean over rows of log(sum over k of exp(logits[row, k])) - logits[row, label of row].
HostTensor softmax_cross_entropy(const HostTensor& logits, const HostTensor& labels);

// The same with a share of each label spread over all classes, and a weight for each class, as
// cross_entropy() says; empty weights: all are 1.
HostTensor smoothed_cross_entropy(const HostTensor& logits, const HostTensor& labels,
                                  const HostTensor& weights, double smoothing);

}  // namespace skyline::reference
