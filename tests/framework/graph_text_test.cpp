#include "framework/graph_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Each op below has another reason; the command shows these lines.
TEST(GraphText, SaysOfEachOutputHowItGotItsMemory) {
  RecordedContext run({.dry_run = Emulation(), .mode = Mode::kInference});
  run.context.begin_step();
  Tensor x = run.upload_vector({1, 2, 3});
  Tensor y = relu(run.context, x);                               // the program holds x
  y = relu(run.context, std::move(y));                           // in place
  Tensor twice = add(run.context, y, y);                         // both operands are one tensor
  Tensor joined = add(run.context, std::move(x), std::move(y));  // over x
  Tensor all = total(run.context, std::move(joined));            // no pair
  run.context.end_step();
  const std::string text = to_text(run.context.recorded_step());
  EXPECT_THAT(text,
              HasSubstr("upload of input | writes v0 input f32[3], new: upload has no input"));
  EXPECT_THAT(text, HasSubstr("relu of input | reads v0 input f32[3] | writes v1 relu of input "
                              "f32[3], new: input 0 is held by the program\n"));
  EXPECT_THAT(text, HasSubstr("v2 relu of input f32[3], over input 0\n"));
  EXPECT_THAT(text, HasSubstr("add of input f32[3], new: input 0 is also input 1; "
                              "input 1 is also input 0\n"));
  EXPECT_THAT(text, HasSubstr("v4 add of input f32[3], over input 0\n"));
  EXPECT_THAT(text, HasSubstr("total of input f32[1], new: total declares no input to write over"));
}

TEST(GraphText, TellsRetainedReadersFromLaterOnesAndShowsOnePhase) {
  RecordedContext run({.dry_run = Emulation()});
  const Parameter w = run.vector_parameter("w", 3, 0.5f);
  run.context.begin_step();
  Tensor x = sigmoid(run.context, w.value);
  x = sigmoid(run.context, std::move(x));
  x = reshape(run.context, std::move(x), {3, 1});
  backward(run.context, total(run.context, std::move(x)));
  run.context.end_step();
  const RecordedStep& step = run.context.recorded_step();
  const std::string forward = to_text(step, Phase::kForward);
  EXPECT_THAT(forward, HasSubstr("new: input 0 is resident"));
  EXPECT_THAT(forward,
              HasSubstr("new: input 0 is still read by sigmoid of w in the backward pass\n"));
  EXPECT_THAT(forward, HasSubstr("reshape of w f32[3, 1], a view of input 0\n"));
  EXPECT_THAT(forward, Not(HasSubstr("sigmoid_grad")));
  const std::string backward = to_text(step, Phase::kBackward);
  EXPECT_THAT(backward, HasSubstr("gradient of output 0 of sigmoid of w f32[3], over input 0\n"));
  EXPECT_THAT(backward, HasSubstr("gradient of w f32[3], the output is resident: w\n"));
  EXPECT_THAT(to_dot(step, Phase::kBackward), Not(HasSubstr("\"upload")));
}

// Every output has an input that it was written over, or a reason.
TEST(GraphText, KnowsEveryOutput) {
  RecordedContext run({.dry_run = Emulation()});
  const Parameter w = run.vector_parameter("w", 3, 0.5f);
  run.context.begin_step();
  backward(run.context, total(run.context, sigmoid(run.context, w.value)));
  run.context.end_step();
  const RecordedStep& step = run.context.recorded_step();
  ASSERT_EQ(step.memory.size(), step.graph.ops.size());
  ASSERT_EQ(step.values.size(), step.graph.values.size());
  for (std::size_t k = 0; k < step.memory.size(); ++k) {
    ASSERT_EQ(step.memory[k].size(), step.graph.ops[k].outputs.size());
    for (const OutputMemory& memory : step.memory[k]) {
      EXPECT_NE(memory.input >= 0, !memory.reason.empty());
    }
  }
}

}  // namespace
}  // namespace skyline
