#include "tests/framework/op_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/support/declared_op.h"

// The harness must notice each fault that it promises to notice, one at a time.
namespace skyline {
namespace {

enum class Fault {
  kNone,
  kForward,           // 1 % off
  kGradient,          // 1 % off
  kReadsFresh,        // adds to its output
  kWritesBehind,      // one float behind its output
  kWritesBefore,      // one float before its output
  kChangesInput,      // its operand is not what it was
  kFalseInPlace,      // declares a pair that its kernel cannot handle; no gradient forbids it
  kRetainsTooLittle,  // its gradient reads x while y was allowed to overwrite it
  kDependsOnThreads,  // adds a trifle for each thread
  kDependsOnMode,     // other results in inference
};

class SquareKernel : public Kernel {
 public:
  SquareKernel(Fault fault, std::int64_t elements) : fault_(fault), elements_(elements) {}

  void run(const KernelArguments& arguments) override {
    const float* x = arguments.input<float>(0);
    float* y = arguments.output<float>(0);
    if (fault_ == Fault::kFalseInPlace) std::fill_n(y, elements_, 0.0f);
    for (std::int64_t i = 0; i < elements_; ++i) {
      float value = x[i] * x[i];
      if (fault_ == Fault::kForward) value *= 1.01f;
      if (fault_ == Fault::kDependsOnThreads)
        value *= 1 + 1e-7f * static_cast<float>(omp_get_max_threads());
      if (fault_ == Fault::kReadsFresh) value += 0 * y[i];
      y[i] = value;
    }
    if (fault_ == Fault::kWritesBehind) y[elements_] = 1;
    if (fault_ == Fault::kWritesBefore) y[-1] = 1;
    if (fault_ == Fault::kChangesInput) const_cast<float*>(x)[0] = 0;
  }

 private:
  Fault fault_;
  std::int64_t elements_;
};

class SquareGradKernel : public Kernel {
 public:
  SquareGradKernel(float factor, std::int64_t elements) : factor_(factor), elements_(elements) {}
  void run(const KernelArguments& arguments) override {
    for (std::int64_t i = 0; i < elements_; ++i) {
      arguments.output<float>(0)[i] =
          factor_ * arguments.input<float>(0)[i] * arguments.input<float>(1)[i];
    }
  }

 private:
  float factor_;
  std::int64_t elements_;
};

class SquareGrad : public Op {
 public:
  explicit SquareGrad(Fault fault) : fault_(fault) {}
  std::string_view name() const override { return "square_grad"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{inputs[0], Category::kGradient}};
  }
  std::unique_ptr<Kernel> kernel(Compute&, std::span<const TensorSpec> inputs) const override {
    const float factor = fault_ == Fault::kGradient ? 2.02f : 2.0f;
    return std::make_unique<SquareGradKernel>(factor, inputs[0].shape.elements());
  }

 private:
  Fault fault_;
};

class Square : public Op {
 public:
  explicit Square(Fault fault) : fault_(fault) {}
  std::string_view name() const override { return "square"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{inputs[0], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override {
    if (fault_ != Fault::kFalseInPlace) return {};
    return {{.input = 0, .output = 0}};
  }
  std::unique_ptr<Kernel> kernel(Compute&, std::span<const TensorSpec> inputs) const override {
    return std::make_unique<SquareKernel>(fault_, inputs[0].shape.elements());
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec>,
                                     const std::vector<bool>&) const override {
    // kRetainsTooLittle: reads y instead of x.
    const GradientSource x =
        fault_ == Fault::kRetainsTooLittle ? GradientSource::output(0) : GradientSource::input(0);
    return {{.op = std::make_shared<SquareGrad>(fault_),
             .sources = {GradientSource::grad_output(0), x},
             .gradient_of = {0}}};
  }

 private:
  Fault fault_;
};

// Returns the failures that check_op reports, joined.
std::string failures_of(Fault fault) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    check_op({.apply =
                  [fault](Context& context, std::vector<Tensor> x) {
                    const bool off = fault == Fault::kDependsOnMode && !context.training();
                    const Fault now = off ? Fault::kForward : fault;
                    return apply(context, std::make_shared<Square>(now), operands(std::move(x[0])))
                        .front();
                  },
              .reference =
                  [](const std::vector<HostTensor>& x) {
                    return map(x[0], [](double v) { return v * v; });
                  },
              .inputs = {random_tensor({2, 3, 4, 5}, 101, 0, {.away_from_zero = 0.1})},
              .seed = 101});
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
  return text;
}

TEST(OpCheck, AcceptsARightOp) { EXPECT_EQ(failures_of(Fault::kNone), ""); }

struct FaultCase {
  Fault fault;
  const char* named;
};
class OpCheckFault : public testing::TestWithParam<FaultCase> {};

TEST_P(OpCheckFault, IsNoticed) {
  EXPECT_THAT(failures_of(GetParam().fault), testing::HasSubstr(GetParam().named));
}

INSTANTIATE_TEST_SUITE_P(All, OpCheckFault,
                         testing::Values(FaultCase{Fault::kForward, "output (in memory order)"},
                                         FaultCase{Fault::kGradient, "gradient of input 0"},
                                         FaultCase{Fault::kReadsFresh, "output (in memory order)"},
                                         FaultCase{Fault::kWritesBehind, "written"},
                                         FaultCase{Fault::kWritesBefore, "written"},
                                         FaultCase{Fault::kChangesInput,
                                                   "held operand 0 was written over"},
                                         FaultCase{Fault::kFalseInPlace, "inference mode"},
                                         FaultCase{Fault::kRetainsTooLittle, "gradient of input 0"},
                                         FaultCase{Fault::kDependsOnThreads, "schedule"},
                                         FaultCase{Fault::kDependsOnMode, "inference mode"}));

}  // namespace
}  // namespace skyline
