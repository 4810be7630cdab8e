// Tests a table of words that is also the weight of the loss's layer, as in GPT-2.
#include <gtest/gtest.h>

#include <algorithm>

#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/optimizer/updates.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

constexpr std::int64_t kVocabulary = 37, kFeatures = 20, kTexts = 3, kTextWords = 6;

// The loss of the next word, by the row of a word and its place alone. Apart, the table and the
// weight are parameters of equal values.
struct TiedProgram {
  explicit TiedProgram(bool tied, Context::Options options = {}) : run(std::move(options)) {
    table = parameter("table", {kVocabulary, kFeatures}, 0);
    places = parameter("places", {kTextWords, kFeatures}, 1);
    weight = tied ? table : parameter("weight", {kVocabulary, kFeatures}, 0);
  }
  Parameter parameter(const char* name, const Shape& shape, std::uint64_t stream) {
    const std::vector<float> host = stored_values(random_tensor(shape, 95, stream));
    return make_parameter(run.context, {shape}, name, host.data());
  }
  Tensor words(std::uint64_t batch) {
    std::vector<std::int32_t> host;
    for (const double word : random_labels(kTexts * kTextWords, kVocabulary, 96 + batch).values) {
      host.push_back(static_cast<std::int32_t>(word));
    }
    return run.context.upload({{std::ssize(host)}, DType::kInt32}, host.data());
  }
  // The rows of words and of their places.
  Tensor x(std::uint64_t batch) {
    std::vector<std::int32_t> host;
    for (std::int32_t k = 0; k < kTexts * kTextWords; ++k) host.push_back(k % kTextWords);
    Tensor at = run.context.upload({{std::ssize(host)}, DType::kInt32}, host.data());
    Tensor rows = embedding(run.context, words(batch), table.value);
    return add(run.context, std::move(rows), embedding(run.context, std::move(at), places.value));
  }
  Tensor loss(std::uint64_t batch = 0, bool accumulate = false) {
    return linear_cross_entropy(run.context, {.x = x(batch),
                                              .weight = weight.value,
                                              .labels = words(batch + 9),
                                              .accumulate = accumulate});
  }
  // Runs batches of a step; returns the gradients of all parameters.
  std::vector<std::vector<float>> gradients(std::uint64_t batches = 1) {
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      const bool accumulate = batch > 0;
      BackwardGraph(run.context, loss(batch, accumulate), {.accumulate = accumulate})
          .run(run.context);
    }
    return {RecordedContext::values(table.gradient), RecordedContext::values(places.gradient),
            RecordedContext::values(weight.gradient)};
  }

  RecordedContext run;
  Parameter table, places, weight;
};

// The head's gradient plus the words'.
std::vector<float> sum_of_both(const std::vector<std::vector<float>>& apart) {
  std::vector<float> sum = apart[2];
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += apart[0][i];
  return sum;
}

TEST(TiedWeight, ItsGradientHasTheBitsOfTheSumOfBoth) {
  const auto apart = TiedProgram(false).gradients(), tied = TiedProgram(true).gradients();
  EXPECT_EQ(tied[0], sum_of_both(apart));
  EXPECT_EQ(tied[1], apart[1]);
}

// A head of two ops, as small vocabularies have it: linear() makes the first part.
TEST(TiedWeight, AddsToTheGradientOfALinearLayer) {
  const auto gradients = [](bool tied) {
    TiedProgram program(tied);
    Context& context = program.run.context;
    Tensor logits = linear(context, program.x(0), program.weight.value, {});
    Tensor labels = program.words(9);
    context.begin_step();
    backward(context, softmax_cross_entropy(context, std::move(logits), std::move(labels)));
    for (const StepOp& op : context.step_graph().ops) EXPECT_NE(op.name, "sum");
    return std::vector{RecordedContext::values(program.table.gradient),
                       RecordedContext::values(program.places.gradient),
                       RecordedContext::values(program.weight.gradient)};
  };
  EXPECT_EQ(gradients(true)[0], sum_of_both(gradients(false)));
}

TEST(TiedWeight, ItsGradientIsThatOfBothUnlessWritingInPlace) {
  EXPECT_EQ(TiedProgram(true, {.in_place = false}).gradients(), TiedProgram(true).gradients());
}

TEST(TiedWeight, AddsBatchesInTheirSequence) {
  std::vector<float> expected;
  for (const std::uint64_t batch : {0, 1, 2}) {
    TiedProgram alone(true);
    BackwardGraph(alone.run.context, alone.loss(batch)).run(alone.run.context);
    const std::vector<float> more = RecordedContext::values(alone.table.gradient);
    if (batch == 0) expected = more;
    for (std::size_t i = 0; batch > 0 && i < more.size(); ++i) expected[i] += more[i];
  }
  EXPECT_EQ(TiedProgram(true).gradients(3)[0], expected);
}

// Returns how many values of the table's size a step requests; ops on them are `names`.
int tables_requested(const RecordedStep& step, std::vector<std::string>& names) {
  int requested = 0;
  for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
    const StepOp& op = step.graph.ops[k];
    if (op.name.find("grad") != std::string::npos || op.name == "sum") names.push_back(op.name);
    for (std::size_t j = 0; j < op.outputs.size(); ++j) {
      const StepValue& value = step.graph.values[op.outputs[j]];
      const bool written_over = step.memory[k][j].input >= 0;
      requested += value.bytes >= kVocabulary * kFeatures * sizeof(float) && !value.resident &&
                   !written_over;
    }
  }
  return requested;
}

TEST(TiedWeight, ItsGradientIsNeverDenseTwice) {
  TiedProgram resident(true);
  resident.run.context.begin_step();
  backward(resident.run.context, resident.loss());
  std::vector<std::string> names;
  EXPECT_EQ(tables_requested(resident.run.context.recorded_step(), names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{"gradient_seed", "scale_gradients", "embedding_grad",
                                             "embedding_grad_onto"}));
}

// The gradient is a value from the loss to the update, which comes after the words' rows are added.
TEST(TiedWeight, IsUpdatedByTheWholeGradientUnderFusedUpdate) {
  const std::vector<float> gradient = TiedProgram(true).gradients()[0];
  for (const char* order : {"program", "early", "optimal"}) {
    TiedProgram fused(true, {.fused_update = true, .orders = std::make_shared<StepOrders>(order)});
    Context& context = fused.run.context;
    const std::vector<float> before = RecordedContext::values(fused.table.value);
    const Tensor velocity =
        context.resident(fused.table.value.spec(), Category::kOptimizer, "table");
    context.begin_step();
    BackwardGraph graph(context, fused.loss());
    const std::optional<BackwardInput> whole = graph.gradient_of(fused.table);
    ASSERT_TRUE(whole && whole->gradient >= 0);
    const Tensor value = fused.table.value.detach();
    graph.add_update(sgd_momentum_op({.learning_rate = 1, .momentum = 0}), "table",
                     {{.retained = value}, *whole, {.retained = velocity}}, {value, velocity});
    graph.run(context);
    std::vector<float> expected = before;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= gradient[i];
    EXPECT_EQ(RecordedContext::values(fused.table.value), expected) << order;
    std::vector<std::string> names;
    EXPECT_EQ(tables_requested(context.recorded_step(), names), 1) << order;
    context.end_step();
  }
}

}  // namespace
}  // namespace skyline
