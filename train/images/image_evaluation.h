#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"
#include "framework/context.h"
#include "models/model.h"
#include "train/run/evaluation.h"

namespace skyline {

// Classification accuracy of a model.
struct Accuracy {
  std::int64_t correct = 0;       // the label's logit is the largest; ties go to the lower class
  std::int64_t correct_top5 = 0;  // it is among the five largest
  std::int64_t total = 0;         // counted images
  std::int64_t not_counted = 0;   // unreadable images
  double loss_sum = 0;            // sum of the cross-entropies

  double top1() const noexcept { return share(static_cast<double>(correct)); }
  double top5() const noexcept { return share(static_cast<double>(correct_top5)); }
  double mean_loss() const noexcept { return share(loss_sum); }

 private:
  double share(double sum) const noexcept {
    return total > 0 ? sum / static_cast<double>(total) : 0.0;
  }
};

// Top-5 accuracy is reported only if there are more classes than this.
inline constexpr int kTopGuesses = 5;

// Evaluates `dataset` in steps of `batch_size`. The last step is padded with repeated images, so
// that all steps have one shape. Padding and unreadable images are not counted. Draws no random
// numbers. Throws DataError if batch_size is 0 or no image can be read, and what the data set and
// `progress` throw.
Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  std::size_t batch_size, std::size_t decode_threads = 1,
                  const EvaluationProgress& progress = {});

}  // namespace skyline
