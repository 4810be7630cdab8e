#include "train/decide/step_seconds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace skyline {
namespace {

StepOp gradient_of(const char* op, const char* layer, std::size_t inputs) {
  return {.name = op,
          .layer = layer,
          .phase = Phase::kBackward,
          .inputs = std::vector<ValueId>(inputs),
          .outputs = {0}};
}

RecordedStep step_of(std::vector<StepOp> ops) {
  RecordedStep step;
  step.graph.ops = std::move(ops);
  return step;
}

TEST(EarlySumSeconds, AreThoseOfLateSumsForEachValueThatIsReadOrWritten) {
  const RecordedStep late = step_of(
      {gradient_of("conv2d_grad_input", "a", 2), gradient_of("conv2d_grad_input", "b", 2),
       gradient_of("relu_grad", "c", 2), gradient_of("sum", "x", 3), gradient_of("sum", "y", 2)});
  const RecordedStep early =
      step_of({gradient_of("conv2d_grad_input", "a", 2), gradient_of("conv2d_grad_input", "b", 2),
               gradient_of("sum", "x", 2), gradient_of("relu_grad", "c", 2),
               gradient_of("sum", "x", 2), gradient_of("sum", "y", 2)});
  // The sum of three takes 2 seconds for each of four values.
  EXPECT_THAT(early_sum_seconds(early, late, {1, 2, 3, 8, 9}),
              testing::ElementsAre(1, 2, 6, 3, 6, 9));
}

// Fused, 8 passes over memory; apart, 3 and 7.
TEST(EarlySumSeconds, TakeFusedSumsApart) {
  const RecordedStep late = step_of(
      {gradient_of("conv2d_grad_input", "a", 2), gradient_of("batch_norm_grad_of_sum", "b", 7)});
  const RecordedStep early =
      step_of({gradient_of("conv2d_grad_input", "a", 2), gradient_of("sum", "b", 2),
               gradient_of("batch_norm_grad", "b", 6)});
  EXPECT_THAT(early_sum_seconds(early, late, {1, 16}), testing::ElementsAre(1, 6, 14));
}

TEST(EarlySumSeconds, RefuseAnotherStep) {
  const RecordedStep late = step_of({gradient_of("relu_grad", "a", 2)});
  const RecordedStep other = step_of({gradient_of("sigmoid_grad", "a", 2)});
  EXPECT_THROW(early_sum_seconds(other, late, {1}), std::logic_error);
}

}  // namespace
}  // namespace skyline
