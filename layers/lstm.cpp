#include "layers/lstm.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/rows.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/math/arithmetic.h"

namespace skyline {
namespace {

bool wants_outputs(LstmWanted wanted) { return wanted != LstmWanted::kLastState; }
bool wants_state(LstmWanted wanted) { return wanted != LstmWanted::kOutputs; }

// The result of one unrolled layer: its output at each step, and each sentence's state after its
// last word.
struct UnrolledLayer {
  std::vector<Tensor> steps;
  Tensor last_h, last_c;
};

// Collects the rows of a state that belong to ended sentences.
class FinishedRows {
 public:
  explicit FinishedRows(bool wanted) : wanted_(wanted) {}

  // Takes the rows behind the first `running` ones off `x`: their sentences have ended.
  void take_off(Context& context, Tensor& x, std::int64_t running) {
    if (!wanted_) {
      x = slice_rows(context, std::move(x), 0, running);
      return;
    }
    const std::int64_t finished = x.shape()[0] - running;
    std::vector<Tensor> parts = split_rows(context, std::move(x), {running, finished});
    x = std::move(parts[0]);
    pieces_.push_back(std::move(parts[1]));
  }

  // Returns all rows, if needed; the longest sentences ended last and come first.
  Tensor join(Context& context, Tensor last) {
    if (!wanted_) return {};
    pieces_.push_back(std::move(last));
    std::reverse(pieces_.begin(), pieces_.end());
    return concat_rows(context, std::move(pieces_));
  }

 private:
  bool wanted_;
  std::vector<Tensor> pieces_;
};

// `number` is the layer's.
UnrolledLayer unroll_layer(Context& context, std::size_t number, std::vector<Tensor> xs,
                           LstmState state, const LstmWeights& weights, const PackedShape& shape,
                           LstmWanted wanted) {
  UnrolledLayer layer;
  FinishedRows finished_h(wants_state(wanted)), finished_c(wants_state(wanted));
  for (std::int64_t step = 0; step < shape.steps(); ++step) {
    const TurnScope turn(context, number + 1, static_cast<std::size_t>(step));
    if (step > 0 && shape.finished(step - 1) > 0) {
      finished_h.take_off(context, state.h, shape.size(step));
      finished_c.take_off(context, state.c, shape.size(step));
    }
    Tensor x = std::move(xs[static_cast<std::size_t>(step)]);
    Tensor gates = linear(context, std::move(x), weights.w, weights.bias_w);
    gates = add(context, std::move(gates),
                linear(context, std::move(state.h), weights.u, weights.bias_u));
    LstmCellOutput cell = lstm_cell(context, std::move(gates), std::move(state.c));
    if (wants_outputs(wanted)) layer.steps.push_back(cell.h);
    state = {.h = std::move(cell.h), .c = std::move(cell.c)};
  }
  layer.last_h = finished_h.join(context, std::move(state.h));
  layer.last_c = finished_c.join(context, std::move(state.c));
  return layer;
}

Tensor zeros(Context& context, const Shape& shape) {
  return apply(context, std::make_shared<Fill>(TensorSpec{shape}, 0.0f, Category::kActivation), {})
      .front();
}

// Returns each layer's initial state.
std::vector<LstmState> states_of_layers(Context& context, std::optional<LstmState> state,
                                        std::size_t layers, const Shape& shape) {
  std::vector<LstmState> states;
  if (!state) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      states.push_back({zeros(context, shape), zeros(context, shape)});
    }
    return states;
  }
  const std::vector<std::int64_t> counts(layers, shape[0]);
  std::vector<Tensor> h = split_rows(context, std::move(state->h), counts);
  std::vector<Tensor> c = split_rows(context, std::move(state->c), counts);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    states.push_back({std::move(h[layer]), std::move(c[layer])});
  }
  return states;
}

// Returns what is needed of layer `number`, by the caller or the next layer.
LstmWanted wanted_of_layer(std::size_t number, std::size_t layers, LstmWanted wanted) {
  const bool last = number + 1 == layers;
  return !last && wanted == LstmWanted::kLastState ? LstmWanted::kAll : wanted;
}

// Computes what the op lstm does, with ops on one word each.
LstmOutput unrolled_lstm(Context& context, Tensor x, std::optional<LstmState> state,
                         const std::vector<LstmWeights>& layers, const PackedShape& shape,
                         float rate, LstmWanted wanted) {
  const std::int64_t units = layers.front().u.shape()[1];
  std::vector<LstmState> states =
      states_of_layers(context, std::move(state), layers.size(), Shape{shape.sentences(), units});
  const std::vector<std::int64_t> counts(shape.batch_sizes().begin(), shape.batch_sizes().end());
  std::vector<Tensor> last_h, last_c;
  for (std::size_t number = 0; number < layers.size(); ++number) {
    if (number > 0) x = dropout(context, std::move(x), rate);
    const LstmWanted of_layer = wanted_of_layer(number, layers.size(), wanted);
    UnrolledLayer layer = unroll_layer(context, number, split_rows(context, std::move(x), counts),
                                       std::move(states[number]), layers[number], shape, of_layer);
    x = wants_outputs(of_layer) ? concat_rows(context, std::move(layer.steps)) : Tensor();
    last_h.push_back(std::move(layer.last_h));
    last_c.push_back(std::move(layer.last_c));
  }
  if (!wants_state(wanted)) return {.y = std::move(x)};
  return {.y = std::move(x),
          .h = concat_rows(context, std::move(last_h)),
          .c = concat_rows(context, std::move(last_c))};
}

// Computes everything with one op; unneeded outputs die in the op's output order.
LstmOutput packed_lstm(Context& context, Tensor x, std::optional<LstmState> state,
                       const std::vector<LstmWeights>& layers, const PackedShape& shape, float rate,
                       LstmWanted wanted) {
  LstmOutput output =
      lstm(context, std::move(x), std::move(state), layers, shape, {.dropout = rate});
  if (!wants_outputs(wanted)) output.y = {};
  if (!wants_state(wanted)) {
    output.c = {};
    output.h = {};
  }
  return output;
}

}  // namespace

Lstm::Lstm(Context& context, std::string_view name, const Options& options)
    : Layer(name), options_(options) {
  const std::int64_t gates = 4 * options.units;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string number = std::to_string(layer);
    const std::int64_t in = layer == 0 ? options.in : options.units;
    add_weight(context, {"w" + number, "weight_ih_l" + number}, {{gates, in}}, in, lecun_normal);
    add_weight(context, {"u" + number, "weight_hh_l" + number}, {{gates, options.units}},
               options.units, lecun_normal);
    add_parameter(context, {"bias_w" + number, "bias_ih_l" + number}, {{gates}}, 0);
    add_parameter(context, {"bias_u" + number, "bias_hh_l" + number}, {{gates}}, 0);
  }
}

std::vector<LstmWeights> Lstm::weights() const {
  std::vector<LstmWeights> layers;
  for (std::size_t first = 0; first < parameters().size(); first += 4) {
    layers.push_back({.w = parameter(first),
                      .u = parameter(first + 1),
                      .bias_w = parameter(first + 2),
                      .bias_u = parameter(first + 3)});
  }
  return layers;
}

LstmOutput Lstm::operator()(Context& context, Tensor x, std::optional<LstmState> state,
                            const PackedShape& shape, LstmWanted wanted) const {
  const LayerScope scope(context, name());
  const auto run = options_.unroll ? unrolled_lstm : packed_lstm;
  return run(context, std::move(x), std::move(state), weights(), shape, options_.dropout, wanted);
}

}  // namespace skyline
