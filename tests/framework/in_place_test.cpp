// Tests writing in place, forward and backward, and its refusals (MXNet note, "In-place
// operations").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using testing::HasSubstr;

TEST(InPlace, ThreeSigmoidsRunInOneBufferInInference) {
  RecordedContext run({.mode = Mode::kInference});
  run.context.begin_step();
  Tensor x = run.upload_vector({-1, 0, 1, 2});
  const std::byte* const buffer = x.address();
  for (int k = 0; k < 3; ++k) x = sigmoid(run.context, std::move(x));
  EXPECT_EQ(x.address(), buffer);
  run.context.download(std::move(x), std::vector<float>(4).data());
  run.context.end_step();
  EXPECT_EQ(run.recorder.last_step().size(), 1u);  // the input's block serves all
}

TEST(InPlace, ThreeSigmoidsKeepTheirOutputsInTrainingAndShareOneGradientBuffer) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 4, 0.5f);
  run.context.begin_step();
  Tensor x = sigmoid(run.context, w.value);
  for (int k = 0; k < 2; ++k) x = sigmoid(run.context, std::move(x));
  backward(run.context, total(run.context, std::move(x)));
  run.context.end_step();
  // Three retained outputs, the loss (its block takes the seed), one gradient buffer; the last
  // gradient goes to the parameter.
  EXPECT_EQ(run.recorder.last_step().size(), 5u);
}

TEST(InPlace, AValueReadByASecondOpIsNotOverwritten) {  // the note's trap
  RecordedContext run({.mode = Mode::kInference});
  run.context.begin_step();
  Tensor b = run.upload_vector({1, -2, 3});
  Tensor c = relu(run.context, b);
  EXPECT_THAT(run.refusals(), HasSubstr("relu of input: input 0 is held by the program"));
  EXPECT_EQ(RecordedContext::values(b), (std::vector<float>{1, -2, 3}));
  const std::byte* const buffer = c.address();
  const std::byte* const first = b.address();
  EXPECT_NE(buffer, first);
  Tensor d = add(run.context, std::move(b), std::move(c));
  EXPECT_EQ(RecordedContext::values(d), (std::vector<float>{2, -2, 6}));
  EXPECT_EQ(d.address(), first);  // add writes over its first operand, which has no other reader
  run.context.end_step();
}

// Declares that each output may be written over its input.
class Declared : public Op {
 public:
  explicit Declared(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {}
  std::string_view name() const override { return "declared"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    std::vector<OutputSpec> outputs;
    for (const Shape& shape : shapes_) outputs.push_back({{shape}});
    return outputs;
  }
  std::vector<InPlacePair> in_place() const override {
    std::vector<InPlacePair> pairs;
    for (std::size_t j = 0; j < shapes_.size(); ++j) pairs.push_back({0, static_cast<int>(j)});
    return pairs;
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, std::span<const TensorSpec>) const override {
    return std::make_unique<HostKernel>(compute, 1, 1, [](const float*, float*) {});
  }

 private:
  std::vector<Shape> shapes_;
};

TEST(InPlace, OneOutputOnlyIsWrittenOverAnInput) {
  RecordedContext run({.dry_run = Emulation(), .mode = Mode::kInference});
  run.context.begin_step();
  Tensor x = run.upload_vector({1, 2, 3});
  const std::byte* const buffer = x.address();
  const std::vector<Tensor> y =
      apply(run.context, std::make_shared<Declared>(std::vector{Shape{3}, Shape{3}}),
            operands(std::move(x)));
  EXPECT_EQ(y[0].address(), buffer);
  EXPECT_NE(y[1].address(), buffer);
  EXPECT_THAT(run.refusals(), HasSubstr("input 0 serves another output"));
}

TEST(InPlace, AnOutputOfAnotherSizeIsNotWrittenOverItsInput) {
  for (const std::int64_t elements : {2, 4}) {
    RecordedContext run({.dry_run = Emulation(), .mode = Mode::kInference});
    run.context.begin_step();
    Tensor x = run.upload_vector({1, 2, 3});
    const std::byte* const buffer = x.address();
    const std::vector<Tensor> y =
        apply(run.context, std::make_shared<Declared>(std::vector{Shape{elements}}),
              operands(std::move(x)));
    EXPECT_NE(y[0].address(), buffer);
    EXPECT_THAT(run.refusals(), HasSubstr("input 0 has another size than the output"));
  }
}

TEST(InPlace, TheRefusalNamesTheOpThatStillReads) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 2.0f);
  run.context.begin_step();
  Tensor x = [&] {
    const LayerScope scope(run.context, "act1");
    return sigmoid(run.context, w.value);
  }();
  const float before = RecordedContext::values(x)[0];
  const Tensor watched = x.detach();
  {
    const LayerScope scope(run.context, "act2");
    x = relu(run.context, std::move(x));
  }
  EXPECT_THAT(run.refusals(), HasSubstr("relu of act2: input 0 is still read by sigmoid of act1"));
  EXPECT_EQ(RecordedContext::values(watched)[0], before);
  run.context.end_step();
}

TEST(InPlace, AParameterIsNeverOverwritten) {
  RecordedContext run({.mode = Mode::kInference});
  Parameter w = run.vector_parameter("w", 2, -1.0f);
  run.context.begin_step();
  Tensor y = relu(run.context, std::move(w.value));
  EXPECT_THAT(run.refusals(), HasSubstr("is resident"));
  y = {};
  run.context.end_step();
}

TEST(InPlace, SwitchedOffEveryOpGetsItsOwnBuffer) {
  RecordedContext run({.mode = Mode::kInference, .in_place = false});
  run.context.begin_step();
  Tensor x = run.upload_vector({1, 2});
  for (int k = 0; k < 3; ++k) x = sigmoid(run.context, std::move(x));
  EXPECT_THAT(run.refusals(), HasSubstr("switched off"));
  x = {};
  run.context.end_step();
  EXPECT_EQ(run.recorder.last_step().size(), 4u);
}

// y = sigmoid(x) + relu(x): two gradient ops read the gradient that reaches the sum. The first must
// not write over it; the second may.
TEST(InPlace, AGradientReadByASecondOpIsNotOverwritten) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.5f);
  run.context.begin_step();
  Tensor x = sigmoid(run.context, w.value);
  Tensor left = [&] {
    const LayerScope scope(run.context, "left");
    return sigmoid(run.context, x);
  }();
  Tensor right = [&] {
    const LayerScope scope(run.context, "right");
    return relu(run.context, std::move(x));
  }();
  Tensor y = add(run.context, std::move(left), std::move(right));
  backward(run.context, total(run.context, std::move(y)));
  const std::string refusals = run.refusals();
  EXPECT_THAT(refusals, HasSubstr("relu_grad of right: input"));
  EXPECT_THAT(refusals, HasSubstr("still read by sigmoid_grad of left"));
  run.context.end_step();
  const double s = 1 / (1 + std::exp(-0.5)), t = 1 / (1 + std::exp(-s));
  EXPECT_NEAR(RecordedContext::values(w.gradient)[1], s * (1 - s) * (t * (1 - t) + 1), 1e-6);
}

}  // namespace
}  // namespace skyline
