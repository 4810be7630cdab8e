#include "framework/ops/recurrent/lstm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <numeric>

#include "framework/ops/array/rows.h"
#include "framework/ops/recurrent/lstm_products_cpu.h"
#include "framework/ops/support/declared_op.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"
#include "tests/framework/op_check.h"
#include "tests/framework/ops/recurrent/lstm_case.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

enum class Parts { kAll, kOutputs, kLastOutputs, kLastCells };

// Checks all outputs as one tensor, or only some of them.
OpCheck op_check_of(const LstmCase& lstm, Parts parts = Parts::kAll) {
  return {.apply =
              [lstm, parts](Context& context, std::vector<Tensor> x) {
                LstmOutput output = lstm.apply(context, std::move(x));
                if (parts == Parts::kOutputs) return std::move(output.y);
                if (parts == Parts::kLastOutputs) return std::move(output.h);
                if (parts == Parts::kLastCells) return std::move(output.c);
                return concat_rows(context, operands(std::move(output.y), std::move(output.h),
                                                     std::move(output.c)));
              },
          .reference =
              [lstm, parts](const std::vector<HostTensor>& x) {
                reference::LstmResult result = lstm.reference(x);
                if (parts == Parts::kOutputs) return std::move(result.y);
                if (parts == Parts::kLastOutputs) return std::move(result.h);
                if (parts == Parts::kLastCells) return std::move(result.c);
                return reference::concat_rows({result.y, result.h, result.c});
              },
          .inputs = lstm.inputs(),
          .derivatives_per_input = 25,
          .seed = lstm.seed,
          .has_products = true};
}

std::vector<std::int32_t> lengths_from(std::int32_t longest) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(longest));
  std::iota(lengths.rbegin(), lengths.rend(), 1);
  return lengths;
}

TEST(Lstm, MatchesReference) { check_op(op_check_of({.lengths = {3, 2, 2}, .seed = 201})); }

TEST(Lstm, StartsAtZerosWithoutAState) {
  check_op(op_check_of({.lengths = {3, 1}, .state = false, .seed = 202}));
}

TEST(Lstm, MatchesReferenceOnOneWord) { check_op(op_check_of({.lengths = {1}, .seed = 203})); }

TEST(Lstm, MatchesReferenceInThreeLayers) {
  check_op(op_check_of({.lengths = {6, 4, 4, 1}, .in = 3, .units = 5, .layers = 3, .seed = 204}));
}

TEST(Lstm, MatchesReferenceWhereAllLengthsAreEqual) {
  check_op(op_check_of({.lengths = {4, 4, 4}, .in = 4, .units = 4, .layers = 2, .seed = 205}));
}

TEST(Lstm, DropsInputsOfUpperLayers) {
  OpCheck check = op_check_of(
      {.lengths = {5, 3, 2}, .in = 2, .units = 5, .layers = 3, .dropout = 0.4f, .seed = 206});
  check.same_in_inference = false;
  check_op(check);
}

TEST(Lstm, OutputsThatNobodyReadsHaveNoGradient) {
  const LstmCase lstm{.lengths = {4, 2}, .in = 2, .units = 3, .layers = 2, .seed = 207};
  for (const Parts parts : {Parts::kOutputs, Parts::kLastOutputs, Parts::kLastCells}) {
    check_op(op_check_of(lstm, parts));
  }
}

TEST(Lstm, MatchesReferenceOnLengthsOneToFifty) {
  OpCheck check = op_check_of({.lengths = lengths_from(50), .in = 3, .units = 4, .seed = 208});
  check.derivatives_per_input = 3;
  check_op(check);
}

// Enough units for several threads, and more rows than one product takes at once.
TEST(Lstm, MatchesReferenceWhenParallel) {
  OpCheck check = op_check_of({.lengths = {8, 8, 7, 7, 7, 6, 5, 5, 5, 5, 5, 4, 4, 4, 3, 1},
                               .in = 33,
                               .units = 72,
                               .layers = 2,
                               .seed = 209});
  check.derivatives_per_input = 1;
  check_op(check);
}

// Returns the gradient of each operand.
std::vector<std::vector<float>> gradients_of(const LstmCase& lstm) {
  RecordedContext run;
  std::vector<Parameter> parameters;
  std::vector<Tensor> x;
  for (const HostTensor& input : lstm.inputs()) {
    const std::vector<float> host = stored_values(input);
    parameters.push_back(make_parameter(run.context, {input.shape}, "p", host.data()));
    x.push_back(parameters.back().value);
  }
  LstmOutput output = lstm.apply(run.context, std::move(x));
  Tensor joined = concat_rows(
      run.context, operands(std::move(output.y), std::move(output.h), std::move(output.c)));
  backward(run.context, total(run.context, std::move(joined)));
  std::vector<std::vector<float>> gradients;
  for (const Parameter& parameter : parameters) {
    gradients.push_back(RecordedContext::values(parameter.gradient));
  }
  return gradients;
}

// 40 sentences are enough for three threads with sentences of their own.
TEST(Lstm, GivesTheSameBitsOnAnyNumberOfThreads) {
  if (!PackedProduct({.in = 40, .out = 160, .add = true}).shares_rows()) {
    GTEST_SKIP() << "needs a processor without AVX-512: the library shares products with it";
  }
  const int threads_before = omp_get_max_threads();
  const LstmCase lstm{.lengths = lengths_from(40), .in = 9, .units = 40, .layers = 2, .seed = 210};
  omp_set_num_threads(1);
  const std::vector<std::vector<float>> expected = gradients_of(lstm);
  for (const int threads : {2, 3}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(gradients_of(lstm), expected) << threads << " threads";
  }
  omp_set_num_threads(threads_before);
}

// Returns the requests of one training step, forward and backward.
Trace trace_of(const LstmCase& lstm, Allocator& upstream, bool execute, StepGraph* graph) {
  RecordingAdaptor recorder(upstream);
  Context context(recorder, {.dry_run = execute ? std::nullopt : std::optional(Emulation()),
                             .seed = lstm.seed});
  context.watch().record_graph = true;
  const std::vector<HostTensor> inputs = lstm.inputs();
  std::vector<Parameter> parameters;
  for (const HostTensor& input : inputs) {
    const std::vector<float> host(input.values.begin(), input.values.end());
    parameters.push_back(
        make_parameter(context, {input.shape}, "p", execute ? host.data() : nullptr));
  }
  context.begin_step();
  std::vector<Tensor> x;
  for (const Parameter& parameter : parameters) x.push_back(parameter.value);
  LstmOutput output = lstm.apply(context, std::move(x));
  output.c = {};
  Tensor joined = concat_rows(context, operands(std::move(output.y), std::move(output.h)));
  backward(context, total(context, std::move(joined)));
  context.end_step();
  if (graph != nullptr) *graph = context.step_graph();
  return recorder.last_step();
}

TEST(Lstm, ADryRunRequestsWhatARunRequests) {
  const LstmCase lstm{
      .lengths = {70, 41, 41, 3}, .in = 7, .units = 12, .layers = 3, .dropout = 0.1f, .seed = 210};
  CpuDevice device;
  BestFitPool pool(device);
  StepGraph graph;
  const Trace run = trace_of(lstm, pool, true, &graph);
  SimulatedDevice nothing;
  BestFitPool dry_pool(nothing);
  EXPECT_TRUE(trace_of(lstm, dry_pool, false, nullptr).same_requests(run));
  EXPECT_TRUE(simulate(graph).same_requests(run));
}

std::size_t outputs_of_lstm(Mode mode) {
  const LstmCase lstm{.lengths = {3, 2}, .layers = 2, .seed = 211};
  RecordedContext recorded({.mode = mode});
  std::vector<Tensor> x;
  std::vector<Parameter> parameters;
  for (const HostTensor& input : lstm.inputs()) {
    const std::vector<float> host(input.values.begin(), input.values.end());
    parameters.push_back(make_parameter(recorded.context, {input.shape}, "p", host.data()));
    x.push_back(parameters.back().value);
  }
  lstm.apply(recorded.context, std::move(x));
  return recorded.context.step_graph().ops.at(0).outputs.size();
}

TEST(Lstm, HasNoReserveWhereNoGradientWillBeAskedFor) {
  EXPECT_EQ(outputs_of_lstm(Mode::kTraining), 4u);
  EXPECT_EQ(outputs_of_lstm(Mode::kInference), 3u);
}

class LstmRefusal : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape) {
    const std::vector<float> host(static_cast<std::size_t>(shape.elements()));
    return recorded_.context.upload({shape}, host.data());
  }
  LstmWeights layer(std::int64_t in) {
    return {tensor({8, in}), tensor({8, 2}), tensor(Shape{8}), tensor(Shape{8})};
  }
  void expect(const std::string& message, Tensor x, std::optional<LstmState> state,
              const std::vector<LstmWeights>& layers, LstmParams params = {}) {
    try {
      lstm(recorded_.context, std::move(x), std::move(state), layers,
           PackedShape::of_lengths(std::vector<std::int32_t>{2, 1}), params);
      FAIL() << "no error";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), message);
    }
  }
  RecordedContext recorded_;
};

TEST_F(LstmRefusal, NamesWhatDoesNotFit) {
  expect("[lstm] layers, got 0, expected at least 1", tensor({3, 5}), {}, {});
  expect("[lstm] dropout, got 1, expected at least 0 and below 1", tensor({3, 5}), {}, {layer(5)},
         {.dropout = 1});
  expect("[lstm] rows of x, got 4, expected 3", tensor({4, 5}), {}, {layer(5)});
  expect("[lstm] w of layer 1, got f32[8, 4], expected f32[8, 5]", tensor({3, 5}), {}, {layer(4)});
  expect("[lstm] w of layer 2, got f32[8, 5], expected f32[8, 2]", tensor({3, 5}), {},
         {layer(5), layer(5)});
  LstmWeights wrong = layer(5);
  wrong.bias_u = tensor(Shape{2});
  expect("[lstm] bias_u of layer 1, got f32[2], expected f32[8]", tensor({3, 5}), {}, {wrong});
  expect("[lstm] initial c, got f32[1, 2], expected f32[2, 2]", tensor({3, 5}),
         LstmState{tensor({2, 2}), tensor({1, 2})}, {layer(5)});
}

}  // namespace
}  // namespace skyline
