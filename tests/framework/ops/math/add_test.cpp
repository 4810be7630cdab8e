#include "framework/ops/math/arithmetic.h"

#include <gtest/gtest.h>

#include "framework/backward/backward_graph.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

void check(const Shape& shape, std::uint64_t seed) {
  check_op(
      {.apply =
           [](Context& context, std::vector<Tensor> x) {
             return add(context, std::move(x[0]), std::move(x[1]));
           },
       .reference = [](const std::vector<HostTensor>& x) { return reference::add(x[0], x[1]); },
       .inputs = {random_tensor(shape, seed, 0), random_tensor(shape, seed, 1)},
       .derivatives_per_input = 15,
       .seed = seed});
}

TEST(Add, MatchesReferenceOnImages) { check({2, 3, 4, 5}, 21); }
TEST(Add, MatchesReferenceWhenParallel) { check({31, 1001}, 22); }

TEST(Add, TakesOneTensorTwice) {
  check_op(
      {.apply = [](Context& context, std::vector<Tensor> x) { return add(context, x[0], x[0]); },
       .reference = [](const std::vector<HostTensor>& x) { return reference::add(x[0], x[0]); },
       .inputs = {random_tensor({3, 5}, 23)},
       .seed = 23});
}

TEST(Add, RefusesAnotherShape) {
  RecordedContext recorded;
  Tensor a = recorded.upload_vector({1, 2}), b = recorded.upload_vector({1, 2, 3});
  try {
    add(recorded.context, std::move(a), std::move(b));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[add] operand 1, got f32[3], expected f32[2]");
  }
}

TEST(Add, WritesOverTheSecondOperandWhenTheFirstIsHeld) {
  RecordedContext recorded;
  const Tensor a = recorded.upload_vector({1, 2});
  Tensor b = recorded.upload_vector({10, 20});
  const std::byte* address = b.address();
  const Tensor y = add(recorded.context, a, std::move(b));
  EXPECT_EQ(y.address(), address);
  EXPECT_EQ(RecordedContext::values(y), (std::vector<float>{11, 22}));
  EXPECT_EQ(RecordedContext::values(a), (std::vector<float>{1, 2}));
}

// The only gradient ops of add are views of grad_output.
TEST(Add, BackwardMakesNoSplit) {
  RecordedContext recorded;
  const Parameter a = recorded.vector_parameter("a", 4, 1),
                  b = recorded.vector_parameter("b", 4, 2);
  Tensor loss = total(recorded.context, add(recorded.context, a.value, b.value));
  BackwardGraph graph(recorded.context, std::move(loss));
  std::vector<std::string_view> names;
  for (const BackwardStep& step : graph.steps()) names.push_back(step.op->name());
  // Each sum has one input and moves it into the parameter's gradient.
  EXPECT_EQ(names, (std::vector<std::string_view>{"gradient_seed", "spread", "reshape", "sum",
                                                  "reshape", "sum"}));
  graph.run(recorded.context);
  EXPECT_EQ(RecordedContext::values(a.gradient), std::vector<float>(4, 1));
  EXPECT_EQ(RecordedContext::values(b.gradient), std::vector<float>(4, 1));
}

}  // namespace
}  // namespace skyline
