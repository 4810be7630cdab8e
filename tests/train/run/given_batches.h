#pragma once

#include <functional>
#include <utility>

#include "train/run/training_step.h"

namespace skyline::tests {

// The batches of a step whose losses a test computes.
class GivenBatches final : public StepBatches {
 public:
  GivenBatches(ShapeKey key, std::function<Tensor(std::size_t batch)> loss_of)
      : key_(key), loss_of_(std::move(loss_of)) {}

  ShapeKey shape_key() const override { return key_; }
  std::size_t input_bytes() const override { return 0; }
  CrossEntropy loss_of(std::size_t batch) override { return {loss_of_(batch)}; }

 private:
  ShapeKey key_;
  std::function<Tensor(std::size_t batch)> loss_of_;
};

}  // namespace skyline::tests
