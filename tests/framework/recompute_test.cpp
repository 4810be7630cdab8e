// Tests which tensors are retained and which are recomputed, under Context::Options::recompute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/backward/backward_graph.h"
#include "framework/backward/step_graph_maker.h"
#include "framework/graph_text.h"
#include "framework/node.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic.h"
#include "memory/trace.h"
#include "tests/framework/backward_requests.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kFeatures = 1000;

// A step of a chain of `length` sigmoids of a parameter.
struct Chain {
  Chain(int recompute, int length) : run({.recompute = recompute}) {
    const Parameter w = run.vector_parameter("w", kFeatures, 0.25f);
    run.context.begin_step();
    Tensor x = sigmoid(run.context, w.value);
    for (int k = 1; k < length; ++k) x = sigmoid(run.context, std::move(x));
    BackwardGraph graph(run.context, total(run.context, std::move(x)));
    for (const BackwardStep& step : graph.steps()) sigmoids += step.op->name() == "sigmoid";
    const Trace before = simulate(make_step_graph(run.context, graph));
    graph.run(run.context);
    run.context.end_step();
    text = to_text(run.context.recorded_step(), Phase::kBackward);
    gradient = RecordedContext::values(w.gradient);
    const Trace& recorded = run.recorder.last_step();
    bytes = lower_bound_bytes(recorded, 1);
    EXPECT_EQ(backward_requests(recorded), backward_requests(before));
    EXPECT_TRUE(recorded.same_requests(simulate(run.context.step_graph())));
  }

  RecordedContext run;
  int sigmoids = 0;  // in the backward graph
  std::string text;
  std::vector<float> gradient;
  std::uint64_t bytes = 0;  // the most alive at once
};

TEST(Recompute, GivesTheSameGradientsFromFewerBytes) {
  const Chain kept(0, 8);
  EXPECT_EQ(kept.sigmoids, 0);
  EXPECT_THAT(kept.text, Not(HasSubstr("recomputed")));
  std::uint64_t before = kept.bytes;
  for (const int depth : {1, 2}) {
    const Chain chain(depth, 8);
    EXPECT_EQ(chain.gradient, kept.gradient);
    EXPECT_LT(chain.bytes, before) << depth;
    before = chain.bytes;
  }
  EXPECT_EQ(Chain(8, 8).gradient, kept.gradient);
}

// Depth 1 recomputes every second sigmoid from the one before it, depth 2 two of three, and so on.
TEST(Recompute, ChainsAreNotDeeperThanAsked) {
  EXPECT_EQ(Chain(1, 8).sigmoids, 4);
  EXPECT_EQ(Chain(2, 8).sigmoids, 6);
  EXPECT_EQ(Chain(3, 8).sigmoids, 6);
  EXPECT_EQ(Chain(7, 8).sigmoids, 7);
  EXPECT_EQ(Chain(8, 8).sigmoids, 8) << "each once, however many read it";
  EXPECT_THAT(Chain(1, 1).text, HasSubstr("sigmoid of w | reads v0 w f32[1000] | writes"));
  EXPECT_THAT(Chain(1, 1).text, HasSubstr("recomputed sigmoid of w"));
}

TEST(Recompute, ATensorIsRetainedThatNothingElseKeepsTheInputsOf) {
  RecordedContext run({.recompute = 5});
  const Parameter w = run.vector_parameter("w", 3, -1.0f);
  run.context.begin_step();
  const Tensor sum = add(run.context, run.upload_vector({1, 2, 3}), w.value);
  EXPECT_EQ(sum.edge().node->recompute_step(0), nullptr);
  const Tensor y = relu(run.context, sum);
  EXPECT_EQ(y.edge().node->recompute_step(0), nullptr);
  EXPECT_TRUE(y.edge().node->retained.front().source.tensor);
  run.context.end_step();
}

TEST(Recompute, NothingIsMadeAgainInInference) {
  RecordedContext run({.mode = Mode::kInference, .recompute = 5});
  run.context.begin_step();
  EXPECT_FALSE(sigmoid(run.context, run.upload_vector({1})).requires_grad());
  run.context.end_step();
}

}  // namespace
}  // namespace skyline
