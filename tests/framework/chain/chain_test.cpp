#include "framework/chain/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/activation/activations.h"
#include "framework/ops/connection/conv2d.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/conv2d.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/reference/local_response_norm.h"
#include "tests/framework/reference/pool2d.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

constexpr std::uint64_t kChainSeed = 97;
constexpr std::int64_t kImages = 11;  // two rounds of four and one of three
constexpr Pool2dParams kReluPool{.kernel = 2, .stride = 2, .relu = true};
constexpr Pool2dParams kOverlapping{.kernel = 3, .stride = 2, .ceil_mode = true};
constexpr LocalResponseNormParams kNorm{.alpha = 0.5f};

const Savings kInRounds = std::make_shared<const ByteSavings>(ByteSavings{.rounds = {"c"}});

// A network's stage: its links, what they compute, and its parameters.
struct Stage {
  const char* name;
  Shape x;
  std::vector<Shape> operands;
  // Takes x and the operands.
  std::vector<Link> (*links)(const Context& context, std::vector<Tensor> operands);
  HostTensor (*reference)(const std::vector<HostTensor>& inputs);
  std::vector<std::string> inside;  // ops of backward in rounds
};

void PrintTo(const Stage& stage, std::ostream* out) { *out << stage.name; }

// As in vgg16, alexnet, googlenet; the last one ends without a pooling, and has no bias.
const Stage kStages[] = {
    {.name = "two_convolutions",
     .x = {kImages, 3, 6, 6},
     .operands = {{5, 3, 3, 3}, Shape{5}, {4, 5, 3, 3}, Shape{4}},
     .links = [](const Context& context, std::vector<Tensor> w) -> std::vector<Link> {
       return {conv2d_link(w[0], w[1], {.padding = 1, .relu = true}),
               conv2d_link(w[2], w[3], {.padding = 1}), max_pool2d_link(context, kReluPool)};
     },
     .reference =
         [](const std::vector<HostTensor>& in) {
           const HostTensor y =
               reference::relu(reference::conv2d(in[0], in[1], in[2], {.padding = 1}));
           const HostTensor z = reference::conv2d(y, in[3], in[4], {.padding = 1});
           return reference::relu(reference::max_pool2d(z, kReluPool).y);
         },
     .inside = {"max_pool2d_grad", "conv2d", "conv2d_grad_weight", "conv2d_grad_input", "relu_grad",
                "conv2d_grad_weight", "conv2d_grad_input"}},
    {.name = "normalized",
     .x = {kImages, 2, 9, 9},
     .operands = {{6, 2, 3, 3}, Shape{6}},
     .links = [](const Context& context, std::vector<Tensor> w) -> std::vector<Link> {
       return {conv2d_link(w[0], w[1], {.relu = true}), local_response_norm_link(kNorm),
               max_pool2d_link(context, kOverlapping)};
     },
     .reference =
         [](const std::vector<HostTensor>& in) {
           const HostTensor y = reference::relu(reference::conv2d(in[0], in[1], in[2], {}));
           return reference::max_pool2d(reference::local_response_norm(y, kNorm), kOverlapping).y;
         },
     .inside = {"max_pool2d_grad", "conv2d", "local_response_norm_grad", "relu_grad",
                "conv2d_grad_weight", "conv2d_grad_input"}},
    {.name = "pooled_inside",
     .x = {kImages, 2, 8, 8},
     .operands = {{4, 2, 3, 3}, {4, 4, 1, 1}},
     .links = [](const Context& context, std::vector<Tensor> w) -> std::vector<Link> {
       return {conv2d_link(w[0], {}, {.padding = 1}), max_pool2d_link(context, kReluPool),
               conv2d_link(w[1], {}, {.relu = true})};
     },
     .reference =
         [](const std::vector<HostTensor>& in) {
           const HostTensor y = reference::conv2d(in[0], in[1], {}, {.padding = 1});
           const HostTensor p = reference::relu(reference::max_pool2d(y, kReluPool).y);
           return reference::relu(reference::conv2d(p, in[2], {}, {}));
         },
     .inside = {"relu_grad", "conv2d", "max_pool2d", "conv2d_grad_weight", "conv2d_grad_input",
                "max_pool2d_grad", "conv2d_grad_weight", "conv2d_grad_input"}}};

class Chain : public testing::TestWithParam<Stage> {
 protected:
  static std::vector<HostTensor> inputs() {
    std::vector<HostTensor> result = {random_tensor(GetParam().x, kChainSeed)};
    for (const Shape& operand : GetParam().operands) {
      result.push_back(random_tensor(operand, kChainSeed, result.size()));
    }
    return result;
  }
};

TEST_P(Chain, EqualsTheReferenceAndItsFiniteDifferences) {
  for (const Savings& savings : {Savings(), kInRounds}) {
    check_op({.apply =
                  [&](Context& context, std::vector<Tensor> x) {
                    context.set_savings(savings);
                    Tensor images = std::move(x.front());
                    x.erase(x.begin());
                    return chain(context, "c", std::move(images),
                                 GetParam().links(context, std::move(x)));
                  },
              .reference = GetParam().reference,
              .inputs = inputs(),
              .derivatives_per_input = 25,
              .step = 1e-7,
              .seed = kChainSeed,
              .has_products = true,
              .round_bytes = 0});
  }
}

// A step of a stage on a context that records it.
struct StageStep {
  StageStep(const Stage& stage, const std::vector<HostTensor>& inputs, Context::Options options)
      : run(std::move(options)) {
    run.context.begin_step();
    for (std::size_t k = 0; k < stage.operands.size(); ++k) {
      const std::vector<float> host = stored_values(inputs[k + 1]);
      parameters.push_back(
          make_parameter(run.context, {stage.operands[k]}, "w" + std::to_string(k), host.data()));
    }
    std::vector<Tensor> operands;
    for (const Parameter& parameter : parameters) operands.push_back(parameter.value);
    const std::vector<float> host = stored_values(inputs[0]);
    Tensor x = require_gradient(run.context, run.context.upload({stage.x}, host.data()), "x");
    const Tensor wanted = x;
    Tensor y = chain(run.context, "c", std::move(x), stage.links(run.context, std::move(operands)));
    output = RecordedContext::values(y);
    Tensor loss = apply(run.context, std::make_shared<Total>(), operands_of(std::move(y))).front();
    for (const Tensor& gradient : backward(run.context, std::move(loss), {&wanted, 1})) {
      gradients.push_back(RecordedContext::values(gradient));
    }
    for (const Parameter& parameter : parameters) {
      gradients.push_back(RecordedContext::values(parameter.gradient));
    }
  }

  static std::vector<Tensor> operands_of(Tensor x) { return operands(std::move(x)); }

  RecordedContext run;
  std::vector<Parameter> parameters;
  std::vector<float> output;
  std::vector<std::vector<float>> gradients;
};

std::vector<StepOp> ops_in_rounds(const StageStep& step) {
  std::vector<StepOp> ops = step.run.context.step_graph().ops;
  std::erase_if(ops, [](const StepOp& op) { return op.rounds == nullptr; });
  return ops;
}

TEST_P(Chain, HasTheSameBitsInRoundsAndNot) {
  const StageStep whole(GetParam(), inputs(), {.round_bytes = 0});
  for (const bool in_place : {false, true}) {
    const StageStep rounds(GetParam(), inputs(),
                           {.in_place = in_place, .savings = kInRounds, .round_bytes = 0});
    EXPECT_EQ(rounds.output, whole.output);
    EXPECT_EQ(rounds.gradients, whole.gradients);
  }
  EXPECT_THAT(whole.run.context.recorded_step().chains, testing::ElementsAre("c"));
  EXPECT_TRUE(ops_in_rounds(whole).empty());
}

TEST_P(Chain, ComputesAgainWhatItsGradientsRead) {
  const StageStep rounds(GetParam(), inputs(), {.savings = kInRounds, .round_bytes = 0});
  const std::vector<StepOp> chains = ops_in_rounds(rounds);
  ASSERT_EQ(chains.size(), 2u);
  EXPECT_EQ(chains[0].name, kChain);
  EXPECT_EQ(chains[1].name, kChainGrad);
  std::vector<std::string> calls;
  for (const OpRounds::Call& call : chains[1].rounds->calls) calls.push_back(call.name);
  EXPECT_EQ(calls, GetParam().inside);
}

// Whoever calls it, a batch of one round runs the links' ops as they are.
TEST_P(Chain, OfOneRoundIsItsLinks) {
  const StageStep one(GetParam(), inputs(), {.savings = kInRounds});
  EXPECT_TRUE(one.run.context.recorded_step().chains.empty());
  EXPECT_TRUE(ops_in_rounds(one).empty());
}

INSTANTIATE_TEST_SUITE_P(Stages, Chain, testing::ValuesIn(kStages),
                         [](const auto& tested) { return std::string(tested.param.name); });

// An image of 64 x 8 x 8 floats takes 16 KiB.
TEST(ChainRounds, HaveAMultipleOfFourImages) {
  for (const auto& [round_bytes, rounds] :
       {std::pair{16, 3}, {64, 3}, {127, 3}, {128, 2}, {192, 1}}) {
    RecordedContext run({.round_bytes = static_cast<std::size_t>(round_bytes) << 10});
    const Parameter weight = make_parameter(run.context, {{64, 1, 1, 1}}, "w", nullptr);
    const std::vector<float> host(12 * 64);
    run.context.begin_step();
    std::vector<Link> links = {conv2d_link(weight.value, {})};
    const Tensor y =
        chain(run.context, "c", run.context.upload({{12, 1, 8, 8}}, host.data()), std::move(links));
    EXPECT_EQ(run.context.recorded_step().chains.size(), rounds > 1 ? 1u : 0u) << round_bytes;
  }
}

TEST(ChainRounds, RefuseOtherImages) {
  RecordedContext run({.savings = kInRounds, .round_bytes = 0});
  const Parameter weight = make_parameter(run.context, {{4, 3, 1, 1}}, "w", nullptr);
  const std::vector<float> host(12 * 2);
  EXPECT_THROW(chain(run.context, "c", run.context.upload({{12, 2, 1, 1}}, host.data()),
                     {conv2d_link(weight.value, {})}),
               ShapeError);
}

}  // namespace
}  // namespace skyline
