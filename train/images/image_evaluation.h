#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"
#include "framework/context.h"
#include "models/model.h"
#include "train/run/evaluation.h"

namespace skyline {

// How well a model tells the classes of images apart.
struct Accuracy {
  std::int64_t correct = 0;       // the label's logit is the largest, the first of equals
  std::int64_t correct_top5 = 0;  // it is among the five largest
  std::int64_t total = 0;         // images that were counted
  std::int64_t not_counted = 0;   // images that could not be read
  double loss_sum = 0;            // of the cross-entropies

  double top1() const noexcept { return share(static_cast<double>(correct)); }
  double top5() const noexcept { return share(static_cast<double>(correct_top5)); }
  double mean_loss() const noexcept { return share(loss_sum); }

 private:
  double share(double sum) const noexcept {
    return total > 0 ? sum / static_cast<double>(total) : 0.0;
  }
};

// Five guesses say something only among more classes than that.
inline constexpr int kTopGuesses = 5;

// Counts images in steps of `batch_size`. The last step is filled up with repetitions, so that all
// steps have one shape; these and images that the data set cannot read are not counted. Draws no
// random numbers. Throws DataError when batch_size is 0 or no image can be read, what the data set
// throws, and what `progress` throws.
Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  std::size_t batch_size, std::size_t decode_threads = 1,
                  const EvaluationProgress& progress = {});

}  // namespace skyline
