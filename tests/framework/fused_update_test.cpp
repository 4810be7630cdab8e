// Tests gradients that go to an update once they are complete, under
// Context::Options::fused_update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <utility>

#include "framework/backward/backward_graph.h"
#include "framework/backward/step_graph_maker.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/connection/linear.h"
#include "memory/order/order.h"
#include "tests/framework/host_kernel.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using testing::ElementsAre;

// x [2, 3] times w, times v, times w again, as [2, 3]; each weight [3, 3].
struct Program {
  explicit Program(bool fused, std::string order = "program")
      : run({.fused_update = fused, .orders = std::make_shared<StepOrders>(std::move(order))}) {
    for (const char* name : {"w", "v"}) {
      std::vector<float> values;
      for (int i = 0; i < 9; ++i) values.push_back(0.1f * static_cast<float>(i + *name % 3) - 0.4f);
      parameters.push_back(make_parameter(run.context, {{3, 3}}, name, values.data()));
    }
    run.context.begin_step();
  }

  Tensor loss(std::initializer_list<std::size_t> weights = {0, 1, 0}) {
    Context& context = run.context;
    const float values[] = {1, -2, 3, 0.5f, 4, -1};
    Tensor x = context.upload({{2, 3}}, values, "x");
    for (const std::size_t weight : weights) {
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

// Overwrites a parameter with rubbish; reads the parameter and its gradient, which it hands to a
// listener.
class Spoil : public Op {
 public:
  using Listener = std::function<void(std::vector<float> gradient)>;
  explicit Spoil(Listener listener) : listener_(std::move(listener)) {}
  std::string_view name() const override { return "spoil"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{inputs[1], Category::kParameter}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return std::make_unique<HostKernel>(compute, elements, elements,
                                        [this, elements](const float* gradient, float* value) {
                                          listener_({gradient, gradient + elements});
                                          std::fill_n(value, elements, 1e9f);
                                        });
  }

 private:
  Listener listener_;
};

// Adds an update of each parameter that calls `listener` with the parameter's name and gradient.
void add_spoils(Program& program, BackwardGraph& graph, const auto& listener) {
  for (const Parameter& parameter : program.parameters) {
    const auto spoil = std::make_shared<Spoil>(
        [&listener, &parameter](const auto& gradient) { listener(parameter.name, gradient); });
    // The kernel reads input 0.
    graph.add_update(spoil, parameter.name,
                     {*graph.gradient_of(parameter), {.retained = parameter.value.detach()}},
                     {parameter.value.detach()});
  }
}

// A weight may be changed at once: nothing reads it afterwards.
TEST(FusedUpdate, GetsEachGradientOnceAfterTheLastReadOfItsParameter) {
  for (const OrderEntry& entry : order_algorithms()) {
    Program program(true, std::string(entry.name));
    BackwardGraph graph(program.run.context, program.loss());
    std::map<std::string, std::vector<float>> gradients;
    std::vector<std::string> order;
    const auto listener = [&](const std::string& name, const std::vector<float>& gradient) {
      order.push_back(name);
      gradients[name] = gradient;
    };
    add_spoils(program, graph, listener);
    graph.run(program.run.context);
    program.run.context.end_step();
    if (entry.name == "program") {
      EXPECT_THAT(order, ElementsAre("v", "w")) << "w is read by the first op, too";
    }
    EXPECT_EQ(gradients, usual_gradients()) << entry.name;
    EXPECT_TRUE(
        program.run.recorder.last_step().same_requests(simulate(program.run.context.step_graph())));
  }
}

// Programs with the same ops and layers that read their parameters at other places: an order that
// was found for one must not serve another.
TEST(FusedUpdate, StructuresDifferWithWhatReadsAParameter) {
  const auto structure = [](std::initializer_list<std::size_t> weights) {
    Program program(true);
    BackwardGraph graph(program.run.context, program.loss(weights));
    const std::uint64_t number = structure_of(graph);
    graph.run(program.run.context);
    program.run.context.end_step();
    return number;
  };
  EXPECT_EQ(structure({0, 1, 0}), structure({0, 1, 0}));
  EXPECT_NE(structure({0, 1, 0}), structure({0, 1, 1}));
  EXPECT_NE(structure({0, 1, 0}), structure({1, 1, 0}));
}

TEST(FusedUpdate, FreesEachGradient) {
  Program program(true);
  const std::size_t before = program.run.recorder.statistics().requested_bytes;
  EXPECT_EQ(before, 2u * 9 * sizeof(float)) << "no gradient is resident";
  BackwardGraph graph(program.run.context, program.loss());
  const auto ignore = [](const std::string&, const std::vector<float>&) {};
  add_spoils(program, graph, ignore);
  graph.run(program.run.context);
  program.run.context.end_step();
  EXPECT_EQ(program.run.recorder.statistics().requested_bytes, before);
}

TEST(FusedUpdate, GradientsWithoutAnUpdateAreFreed) {
  Program program(true);
  const std::size_t before = program.run.recorder.statistics().requested_bytes;
  backward(program.run.context, program.loss());
  program.run.context.end_step();
  EXPECT_EQ(program.run.recorder.statistics().requested_bytes, before);
}

}  // namespace
}  // namespace skyline
