// Tests gradients that go to an update once they are complete, under
// Context::Options::fused_update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "framework/backward_graph.h"
#include "framework/node.h"
#include "framework/ops/activation/sigmoid.h"
#include "framework/ops/connection/linear.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using testing::ElementsAre;

// x [2, 3] times w, times v, times w again, as [2, 3]; each weight [3, 3].
struct Program {
  explicit Program(bool fused) : run({.fused_update = fused}) {
    for (const char* name : {"w", "v"}) {
      std::vector<float> values;
      for (int i = 0; i < 9; ++i) values.push_back(0.1f * static_cast<float>(i + *name % 3) - 0.4f);
      parameters.push_back(make_parameter(run.context, {{3, 3}}, name, values.data()));
    }
    run.context.begin_step();
  }

  Tensor loss() {
    Context& context = run.context;
    const float values[] = {1, -2, 3, 0.5f, 4, -1};
    Tensor x = context.upload({{2, 3}}, values, "x");
    for (const int weight : {0, 1, 0}) {
      x = sigmoid(context, linear(context, std::move(x), parameters[weight].value, {}));
    }
    return total(context, std::move(x));
  }

  RecordedContext run;
  std::vector<Parameter> parameters;
};

// Returns both weights' gradients by name, computed without fused updates.
std::map<std::string, std::vector<float>> usual_gradients() {
  Program program(false);
  backward(program.run.context, program.loss());
  program.run.context.end_step();
  std::map<std::string, std::vector<float>> gradients;
  for (const Parameter& parameter : program.parameters) {
    gradients[parameter.name] = RecordedContext::values(parameter.gradient);
  }
  return gradients;
}

// A weight may be changed at once: nothing reads it afterwards.
TEST(FusedUpdate, GetsEachGradientOnceAfterTheLastReadOfItsParameter) {
  Program program(true);
  BackwardGraph graph(program.run.context, program.loss());
  std::map<std::string, std::vector<float>> gradients;
  std::vector<std::string> order;
  graph.run(program.run.context, [&](const Node& leaf, Tensor gradient) {
    order.push_back(leaf.layer);
    gradients[leaf.layer] = RecordedContext::values(gradient);
    const std::vector<float> rubbish(9, 1e9f);
    for (const Parameter& parameter : program.parameters) {
      if (parameter.name == leaf.layer) program.run.context.write(parameter.value, rubbish.data());
    }
  });
  program.run.context.end_step();
  EXPECT_THAT(order, ElementsAre("v", "w")) << "w is read by the first op, too";
  EXPECT_EQ(gradients, usual_gradients());
}

TEST(FusedUpdate, FreesEachGradient) {
  Program program(true);
  const std::size_t before = program.run.recorder.statistics().requested_bytes;
  EXPECT_EQ(before, 2u * 9 * sizeof(float)) << "no gradient is resident";
  BackwardGraph graph(program.run.context, program.loss());
  graph.run(program.run.context, [](const Node&, Tensor) {});
  program.run.context.end_step();
  EXPECT_EQ(program.run.recorder.statistics().requested_bytes, before);
}

TEST(FusedUpdate, IsNeededAndInTheGraphsOrder) {
  Program program(true);
  BackwardGraph graph(program.run.context, program.loss());
  std::vector<int> order(graph.steps().size());
  std::iota(order.begin(), order.end(), 0);
  EXPECT_THROW(graph.reorder(order), std::logic_error);
  EXPECT_THROW(graph.run(program.run.context), std::logic_error);
  program.run.context.end_step();
}

}  // namespace
}  // namespace skyline
