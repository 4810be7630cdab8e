#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "framework/context.h"
#include "models/model.h"

namespace skyline {

struct Accuracy {
  std::int64_t correct = 0;
  std::int64_t total = 0;
  double top1() const noexcept {
    return total > 0 ? static_cast<double>(correct) / static_cast<double>(total) : 0.0;
  }
};

// Counts the images whose largest logit is their label's, the first of equals. The images come in
// steps of `batch_size`, the last one filled up with repetitions that are not counted, so that all
// steps have one shape. Leaves the random stream as it was. Throws DataError when batch_size is 0.
Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  std::size_t batch_size);

}  // namespace skyline
