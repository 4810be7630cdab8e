#include "framework/ops/math/arithmetic.h"

#include <gtest/gtest.h>

#include <cstring>

#include "framework/ops/support/declared_op.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

constexpr std::int64_t kElements = 20011;  // above the serial cut-off, ragged

std::vector<std::vector<float>> random_inputs(int count, std::uint64_t seed) {
  std::vector<std::vector<float>> inputs;
  for (int k = 0; k < count; ++k) {
    const HostTensor x = random_tensor(Shape{kElements}, seed, static_cast<std::uint64_t>(k));
    inputs.emplace_back(x.values.begin(), x.values.end());
  }
  return inputs;
}

// Runs the kernel on copies of the inputs. The output is input `over`, or separate memory for -1.
std::vector<float> run_sum(std::vector<std::vector<float>> inputs, int over) {
  const auto count = static_cast<int>(inputs.size());
  std::vector<float> own(kElements);
  std::vector<const std::byte*> addresses;
  for (auto& input : inputs) addresses.push_back(reinterpret_cast<std::byte*>(input.data()));
  std::vector<float>& result = over < 0 ? own : inputs[static_cast<std::size_t>(over)];
  std::byte* const output = reinterpret_cast<std::byte*>(result.data());
  const std::vector<TensorSpec> specs(inputs.size(), TensorSpec{Shape{kElements}});
  CpuCompute cpu;
  Sum(count).kernel(cpu, specs)->run({addresses, std::span(&output, 1)});
  return result;
}

TEST(Sum, AddsInTheOrderOfItsInputsWhereverItWrites) {
  for (const int count : {1, 2, 3, 7}) {
    const auto inputs = random_inputs(count, 31);
    std::vector<float> expected = inputs[0];
    for (int k = 1; k < count; ++k) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += inputs[static_cast<std::size_t>(k)][i];
      }
    }
    for (int over = -1; over < count; ++over) {
      EXPECT_EQ(run_sum(inputs, over), expected) << count << " inputs, written over " << over;
    }
  }
}

TEST(Sum, PrefersTheFirstInputThatNobodyHolds) {
  RecordedContext recorded;
  const Tensor held = recorded.upload_vector({1, 1});
  Tensor second = recorded.upload_vector({2, 2}), third = recorded.upload_vector({3, 3});
  const std::byte* expected = second.address();
  const Tensor y = recorded.context
                       .execute(Sum(3), operands(held, std::move(second), std::move(third)), {},
                                Phase::kBackward, "")
                       .front();
  EXPECT_EQ(y.address(), expected);
  EXPECT_EQ(RecordedContext::values(y), (std::vector<float>{6, 6}));
}

TEST(Sum, RefusesAnotherNumberOfInputs) {
  const std::vector<TensorSpec> specs(2, TensorSpec{Shape{4}});
  EXPECT_THROW(Sum(3).outputs(specs), ShapeError);
}

}  // namespace
}  // namespace skyline
