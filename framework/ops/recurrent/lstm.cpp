#include "framework/ops/recurrent/lstm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/recurrent/lstm_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

std::string parameters_of(const LstmProblem& problem) {
  const DropoutMask mask = problem.mask.value_or(DropoutMask{});
  return fmt::format("sizes={} units={} layers={} state={} retained={} dropout={} seed={}",
                     fmt::join(problem.shape.batch_sizes(), "+"), problem.units, problem.layers,
                     problem.state, problem.retained, mask.rate, mask.seed);
}

RunValue run_value_of(const LstmProblem& problem) {
  return problem.mask ? RunValue(problem.mask->stream) : RunValue();
}

TensorSpec state_spec(const LstmProblem& problem) {
  return {{problem.layers * problem.sentences(), problem.units}};
}

TensorSpec output_spec(const LstmProblem& problem) { return {{problem.rows(), problem.units}}; }

// All weights and biases one behind the other, as cuDNN wants them.
TensorSpec packed_spec(const LstmProblem& problem) {
  std::int64_t floats = 0;
  for (std::int64_t layer = 0; layer < problem.layers; ++layer) {
    floats += problem.gates() * (problem.input_width(layer) + problem.units + 2);
  }
  return {Shape{floats}};
}

TensorSpec reserve_spec(const LstmProblem& problem) {
  return {Shape{LstmReserve(problem).floats()}};
}

// Inputs x, with a state h and c, then y, reserve, grad_y, grad_h, grad_c, w, u of each layer, and
// the packed weights, if there are any.
std::shared_ptr<const Op> grad_op(const LstmProblem& problem, const LstmGradients& gradients) {
  const TensorSpec state = state_spec(problem), output = output_spec(problem);
  const TensorSpec x{{problem.rows(), problem.in}}, bias{Shape{problem.gates()}};
  std::vector<std::pair<std::string, TensorSpec>> operands = {{"x", x}};
  if (problem.state) operands.insert(operands.end(), {{"initial h", state}, {"initial c", state}});
  operands.insert(operands.end(), {{"y", output},
                                   {"reserve", reserve_spec(problem)},
                                   {"grad_y", output},
                                   {"grad_h", state},
                                   {"grad_c", state}});
  std::vector<TensorSpec> outputs;
  if (gradients.x) outputs.push_back(x);
  if (gradients.state) outputs.insert(outputs.end(), 2, state);
  for (std::int64_t layer = 0; layer < problem.layers; ++layer) {
    const TensorSpec w{{problem.gates(), problem.input_width(layer)}};
    const TensorSpec u{{problem.gates(), problem.units}};
    operands.insert(operands.end(), {{"w", w}, {"u", u}});
    if (gradients.weights) outputs.insert(outputs.end(), {w, u, bias, bias});
  }
  if (problem.packed) operands.push_back({"packed weights", packed_spec(problem)});
  return gradient_op(
      LstmGradProblem{problem, gradients},
      {.name = "lstm_grad",
       .parameters = fmt::format("{} of x={} state={} weights={}", parameters_of(problem),
                                 gradients.x, gradients.state, gradients.weights),
       .operands = std::move(operands),
       .outputs = std::move(outputs),
       .kernels = {make_lstm_grad_cpu, make_lstm_grad_cuda},
       .run_value = run_value_of(problem),
       .cacheable = false});
}

// Inputs x, with a state h and c, then w, u, bias_w, bias_u of each layer; outputs y, c, h, if a
// gradient is needed the reserve, and in some dry runs the packed weights.
class Lstm : public Op {
 public:
  explicit Lstm(LstmProblem problem) : problem_(std::move(problem)) {}
  std::string_view name() const override { return "lstm"; }
  std::string parameters() const override { return parameters_of(problem_); }
  bool cacheable() const override { return false; }
  RunValue run_value() const override { return run_value_of(problem_); }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
    check(inputs);
    std::vector<OutputSpec> outputs = {{output_spec(problem_), Category::kActivation},
                                       {state_spec(problem_), Category::kActivation},
                                       {state_spec(problem_), Category::kActivation}};
    if (problem_.retained) outputs.push_back({reserve_spec(problem_), Category::kActivation});
    if (problem_.packed) outputs.push_back({packed_spec(problem_), Category::kActivation});
    return outputs;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs) const override {
    return KernelMakers<LstmProblem>(make_lstm_cpu, make_lstm_cuda).make(compute, problem_);
  }

  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const override;

 private:
  std::size_t first_weight() const { return problem_.state ? 3 : 1; }
  void check(Specs inputs) const;

  LstmProblem problem_;
};

void Lstm::check(Specs inputs) const {
  require_inputs("lstm", inputs.size(),
                 first_weight() + 4 * static_cast<std::size_t>(problem_.layers));
  require_float("lstm", "x", inputs[0], 2);
  require_extent("lstm", "rows of x", inputs[0].shape[0], problem_.rows());
  if (problem_.state) {
    require_spec("lstm", "initial h", inputs[1], state_spec(problem_));
    require_spec("lstm", "initial c", inputs[2], state_spec(problem_));
  }
  for (std::int64_t layer = 0; layer < problem_.layers; ++layer) {
    const std::size_t first = first_weight() + 4 * static_cast<std::size_t>(layer);
    const std::string of = fmt::format(" of layer {}", layer + 1);
    require_spec("lstm", "w" + of, inputs[first],
                 {{problem_.gates(), problem_.input_width(layer)}});
    require_spec("lstm", "u" + of, inputs[first + 1], {{problem_.gates(), problem_.units}});
    require_spec("lstm", "bias_w" + of, inputs[first + 2], {Shape{problem_.gates()}});
    require_spec("lstm", "bias_u" + of, inputs[first + 3], {Shape{problem_.gates()}});
  }
}

std::vector<GradientCall> Lstm::gradient(Specs inputs, const std::vector<bool>& needed) const {
  const auto first = static_cast<int>(first_weight());
  LstmGradients gradients{.x = needed[0], .state = problem_.state && (needed[1] || needed[2])};
  GradientCall call;
  if (gradients.x) call.gradient_of.push_back(0);
  if (gradients.state) call.gradient_of.insert(call.gradient_of.end(), {1, 2});
  for (std::size_t k = first_weight(); k < inputs.size(); ++k) {
    gradients.weights = gradients.weights || needed[k];
  }
  for (int k = 0; gradients.weights && k < 4 * problem_.layers; ++k) {
    call.gradient_of.push_back(first + k);
  }
  for (int k = 0; k < first; ++k) call.sources.push_back(GradientSource::input(k));
  call.sources.push_back(GradientSource::output(0));
  call.sources.push_back(GradientSource::output(3));
  for (const int k : {0, 2, 1}) call.sources.push_back(GradientSource::grad_output(k));
  for (int layer = 0; layer < problem_.layers; ++layer) {
    call.sources.push_back(GradientSource::input(first + 4 * layer));
    call.sources.push_back(GradientSource::input(first + 4 * layer + 1));
  }
  if (problem_.packed) call.sources.push_back(GradientSource::output(4));
  call.op = grad_op(problem_, gradients);
  return {std::move(call)};
}

std::optional<DropoutMask> draw_mask(Context& context, std::size_t layers, float rate) {
  if (!context.training() || rate == 0 || layers < 2) return {};
  RandomStream& random = context.random();
  const DropoutMask mask{.seed = random.seed, .stream = random.take(), .rate = rate};
  for (std::size_t layer = 2; layer < layers; ++layer) random.take();
  return mask;
}

LstmCellProblem cell_of(const NoParams&, Specs inputs) {
  require_inputs("lstm_cell", inputs.size(), 2);
  require_float("lstm_cell", "c", inputs[1], 2);
  const Shape& c = inputs[1].shape;
  require_spec("lstm_cell", "gates", inputs[0], {{c[0], 4 * c[1]}});
  return {.rows = c[0], .units = c[1]};
}

// Inputs activated gates, c before, c after, grad_h, grad_c; outputs grad_gates, grad_c_before.
std::vector<GradientCall> cell_gradients(const LstmCellProblem& problem, const std::vector<bool>&) {
  const TensorSpec gates{{problem.rows, 4 * problem.units}}, c{{problem.rows, problem.units}};
  return {
      {.op = gradient_op(
           problem,
           {.name = "lstm_cell_grad",
            .operands = {{"gates", gates}, {"c", c}, {"c after", c}, {"grad_h", c}, {"grad_c", c}},
            .outputs = {gates, c},
            .kernels = {make_lstm_cell_grad_cpu, make_lstm_cell_grad_cuda},
            .in_place = {{.input = 0, .output = 0},
                         {.input = 4, .output = 1},
                         {.input = 3, .output = 1}}}),
       .sources = {GradientSource::output(1), GradientSource::input(1), GradientSource::output(2),
                   GradientSource::grad_output(0), GradientSource::grad_output(2)},
       .gradient_of = {0, 1}}};
}

// Inputs gates, c; outputs h, activated gates, c. In this order an output that nobody reads dies at
// once, while the caller holds c.
const Declaration<LstmCellProblem> kLstmCell = {
    .name = "lstm_cell",
    .problem = cell_of,
    .outputs =
        [](const LstmCellProblem& problem) {
          const TensorSpec c{{problem.rows, problem.units}};
          return activations({c, {{problem.rows, 4 * problem.units}}, c});
        },
    .kernels = {make_lstm_cell_cpu, make_lstm_cell_cuda},
    .gradient = cell_gradients,
    .in_place = {{.input = 0, .output = 1}, {.input = 1, .output = 2}}};

}  // namespace

LstmOutput lstm(Context& context, Tensor x, std::optional<LstmState> state,
                const std::vector<LstmWeights>& layers, const PackedShape& shape,
                LstmParams params) {
  if (layers.empty()) throw std::invalid_argument("[lstm] layers, got 0, expected at least 1");
  if (!(params.dropout >= 0 && params.dropout < 1)) {
    throw std::invalid_argument(
        fmt::format("[lstm] dropout, got {}, expected at least 0 and below 1", params.dropout));
  }
  require_float("lstm", "x", x.spec(), 2);
  require_float("lstm", "u of layer 1", layers.front().u.spec(), 2);
  LstmProblem problem{.shape = shape,
                      .in = x.shape()[1],
                      .units = layers.front().u.shape()[1],
                      .layers = static_cast<std::int64_t>(layers.size()),
                      .state = state.has_value(),
                      .retained = false,
                      .packed = context.emulation().chainer_ops};
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  if (state) {
    inputs.push_back(std::move(state->h));
    inputs.push_back(std::move(state->c));
    state.reset();
  }
  for (const LstmWeights& layer : layers) {
    inputs.insert(inputs.end(), {layer.w, layer.u, layer.bias_w, layer.bias_u});
  }
  for (const Tensor& input : inputs) {
    problem.retained = problem.retained || (context.training() && input.requires_grad());
  }
  problem.mask = draw_mask(context, layers.size(), params.dropout);
  std::vector<Tensor> outputs =
      apply(context, std::make_shared<Lstm>(std::move(problem)), std::move(inputs));
  return {.y = std::move(outputs[0]), .h = std::move(outputs[2]), .c = std::move(outputs[1])};
}

LstmCellOutput lstm_cell(Context& context, Tensor gates, Tensor c) {
  std::vector<Tensor> outputs =
      apply(context, declared_op(kLstmCell), operands(std::move(gates), std::move(c)));
  return {.h = std::move(outputs[0]), .c = std::move(outputs[2])};
}

}  // namespace skyline
