// Tests how the backward graph sums the contributions to a gradient.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "framework/backward/backward_graph.h"
#include "framework/backward/step_graph_maker.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/backward_requests.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

constexpr std::int64_t kElements = 1000;
constexpr std::size_t kBytes = kElements * sizeof(float);

// loss = total of sigmoid(x + k / 8 + i / 100), at element i, for each k of `shifts`, so that x has
// as many consumers, with gradients that differ in their last bits.
Tensor shifted_sigmoids(RecordedContext& run, const Tensor& x, const std::vector<int>& shifts) {
  Tensor sum;
  for (const int k : shifts) {
    std::vector<float> shift(kElements);
    for (std::size_t i = 0; i < shift.size(); ++i) {
      shift[i] = static_cast<float>(k) / 8 + static_cast<float>(i) / 100;
    }
    Tensor y = sigmoid(run.context, add(run.context, x, run.upload_vector(shift)));
    sum = sum ? add(run.context, std::move(sum), std::move(y)) : std::move(y);
  }
  return total(run.context, std::move(sum));
}

std::vector<int> first_shifts(int count) {
  std::vector<int> shifts;
  for (int k = 0; k < count; ++k) shifts.push_back(k);
  return shifts;
}

// Returns the number of inputs of each of the graph's sums, in order.
std::vector<std::size_t> sums_of(const BackwardGraph& graph) {
  std::vector<std::size_t> sums;
  for (const BackwardStep& step : graph.steps()) {
    if (step.op->name() == "sum") sums.push_back(step.inputs.size());
  }
  return sums;
}

// Sums gradients early if `early`.
Context::Options summing(bool early) {
  return {.savings = std::make_shared<const ByteSavings>(ByteSavings{.early_sums = early})};
}

std::vector<float> gradient_of_sigmoids(bool parameter, const std::vector<int>& shifts,
                                        bool early = false) {
  RecordedContext run(summing(early));
  const Parameter w = run.vector_parameter("w", kElements, 0.37f);
  run.context.begin_step();
  // relu passes gradients through unchanged: 0.37 is positive.
  const Tensor x = parameter ? w.value : relu(run.context, w.value);
  backward(run.context, shifted_sigmoids(run, x, shifts));
  run.context.end_step();
  return RecordedContext::values(w.gradient);
}

// Adds vectors, the first one first.
std::vector<float> sum(const std::vector<std::vector<float>>& parts) {
  std::vector<float> sum = parts.front();
  for (std::size_t k = 1; k < parts.size(); ++k) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += parts[k][i];
  }
  return sum;
}

TEST(GradientSums, AreTheSumOfAllContributionsInTheOrderOfTheirComing) {
  for (const bool parameter : {true, false}) {
    for (const int consumers : {1, 2, 3, 5, 6, 9, 11}) {
      SCOPED_TRACE(std::to_string(consumers) + (parameter ? " of a parameter" : " of a value"));
      std::vector<std::vector<float>> parts;
      for (int k = consumers - 1; k >= 0; --k) {  // the last consumer's comes first
        parts.push_back(gradient_of_sigmoids(parameter, {k}));
      }
      const std::vector<float> expected = sum(parts);
      for (const bool early : {false, true}) {
        EXPECT_EQ(gradient_of_sigmoids(parameter, first_shifts(consumers), early), expected);
      }
      std::ranges::reverse(parts);
      EXPECT_EQ(sum(parts) == expected, consumers <= 2) << "another order gives other bits";
    }
  }
}

TEST(GradientSums, AddEachContributionToAParametersGradientAsItComes) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", kElements, 0.37f);
  run.context.begin_step();
  Tensor y = sigmoid(run.context, w.value);
  for (int k = 0; k < 6; ++k) y = add(run.context, std::move(y), sigmoid(run.context, w.value));
  BackwardGraph graph(run.context, total(run.context, std::move(y)));
  EXPECT_EQ(sums_of(graph), std::vector<std::size_t>(6, 2));
  int in_place = 0;
  for (const GradientValue& gradient : graph.gradients()) {
    in_place += gradient.destination.storage() == w.gradient.storage();
  }
  EXPECT_EQ(in_place, 1 + 6);  // the first contribution and the sums
  graph.run(run.context);
  run.context.end_step();
}

TEST(GradientSums, WaitForFivePartsOfAValue) {
  const std::map<int, std::vector<std::size_t>> expected = {
      {1, {}}, {2, {2}}, {3, {3}}, {5, {5}}, {6, {5, 2}}, {9, {5, 5}}, {11, {5, 5, 3}}};
  for (const auto& [consumers, sums] : expected) {
    RecordedContext run;
    const Parameter w = run.vector_parameter("w", kElements, 0.37f);
    run.context.begin_step();
    const Tensor x = sigmoid(run.context, w.value);
    const BackwardGraph graph(run.context, shifted_sigmoids(run, x, first_shifts(consumers)));
    EXPECT_EQ(sums_of(graph), sums) << consumers << " consumers";
  }
}

TEST(GradientSums, AddEachContributionToAValueAsItComesIfSummedEarly) {
  RecordedContext run(summing(true));
  const Parameter w = run.vector_parameter("w", kElements, 0.37f);
  run.context.begin_step();
  const Tensor x = sigmoid(run.context, w.value);
  const BackwardGraph graph(run.context, shifted_sigmoids(run, x, first_shifts(11)));
  EXPECT_EQ(sums_of(graph), std::vector<std::size_t>(10, 2));
}

// Returns the most bytes alive at once among backward's requests.
std::size_t backward_peak(const Trace& trace) {
  std::map<Tick, std::int64_t> changes;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tags[i].phase != Phase::kBackward) continue;
    changes[trace.blocks[i].lower] += static_cast<std::int64_t>(trace.blocks[i].bytes);
    changes[trace.blocks[i].upper] -= static_cast<std::int64_t>(trace.blocks[i].bytes);
  }
  std::int64_t live = 0, peak = 0;
  for (const auto& [tick, change] : changes) peak = std::max(peak, live += change);
  return static_cast<std::size_t>(peak);
}

TEST(GradientSums, KeepNoMoreAliveForMoreConsumers) {
  const auto peak = [](bool parameter, int consumers, bool early = false) {
    RecordedContext run(summing(early));
    const Parameter w = run.vector_parameter("w", kElements, 0.37f);
    run.context.begin_step();
    const Tensor x = parameter ? w.value : sigmoid(run.context, w.value);
    backward(run.context, shifted_sigmoids(run, x, first_shifts(consumers)));
    run.context.end_step();
    const Trace& recorded = run.recorder.last_step();
    EXPECT_TRUE(recorded.same_requests(simulate(run.context.step_graph())));
    return backward_peak(recorded);
  };
  EXPECT_EQ(peak(true, 50), peak(true, 3));
  EXPECT_EQ(peak(false, 50), peak(false, 6));
  EXPECT_EQ(peak(false, 50, true), peak(false, 3, true));
  EXPECT_LE(peak(false, 50, true), peak(false, 50) - 2 * kBytes);
  EXPECT_LE(peak(true, 50), 3 * kBytes);  // two contributions and the gradient of the loss's sum
}

TEST(GradientSums, AreSimulatedAsTheyRunInPlaceAndNot) {
  for (const bool in_place : {true, false}) {
    for (const bool parameter : {true, false}) {
      RecordedContext run({.in_place = in_place});
      const Parameter w = run.vector_parameter("w", kElements, 0.37f);
      run.context.begin_step();
      Tensor x = parameter ? w.value : sigmoid(run.context, w.value);
      BackwardGraph graph(run.context, shifted_sigmoids(run, x, first_shifts(11)));
      x = {};
      const Trace before = simulate(make_step_graph(run.context, graph), {.in_place = in_place});
      graph.run(run.context);
      run.context.end_step();
      const Trace simulated = simulate(run.context.step_graph(), {.in_place = in_place});
      const Trace& recorded = run.recorder.last_step();
      EXPECT_TRUE(simulated.same_requests(recorded)) << in_place << parameter;
      EXPECT_EQ(simulated.tags, recorded.tags);
      EXPECT_EQ(backward_requests(before), backward_requests(recorded)) << in_place << parameter;
    }
  }
}

// A gradient that is a view writes nothing: the first sum moves it into its tensor.
TEST(GradientSums, TakeViewsOfOtherGradients) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 1.0f);
  for (int step = 0; step < 2; ++step) {  // overwritten, not added to
    run.context.begin_step();
    Tensor y = add(run.context, w.value, w.value);
    y = add(run.context, std::move(y), w.value);
    backward(run.context, total(run.context, add(run.context, std::move(y), w.value)));
    run.context.end_step();
    EXPECT_EQ(RecordedContext::values(w.gradient), (std::vector<float>{4, 4, 4}));
  }
}

}  // namespace
}  // namespace skyline
