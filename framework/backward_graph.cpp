#include "framework/backward_graph.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "framework/node.h"
#include "framework/ops/math/fill.h"
#include "framework/ops/math/sum.h"

namespace skyline {
namespace {

// d loss / d loss = 1, written over the loss where nobody else holds it.
class GradientSeed : public Op {
 public:
  std::string_view name() const override { return "gradient_seed"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{inputs[0], Category::kGradient}};
  }
  std::vector<InPlacePair> in_place() const override { return {{0, 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    return Fill(inputs[0], 1.0f).kernel(compute, {});
  }
};

// The most parts of one gradient that wait for their sum, see BackwardGraph.
constexpr std::size_t kMostParts = 5;
constexpr std::size_t kMostPartsOfParameter = 2;

std::size_t index(int number) { return static_cast<std::size_t>(number); }

void forget_reader(const Tensor& tensor, const std::string& reader) {
  auto& readers = tensor.storage()->readers;
  const auto found = std::find(readers.begin(), readers.end(), reader);
  if (found != readers.end()) readers.erase(found);
}

}  // namespace

std::string BackwardStep::str() const { return op_of_layer(op->name(), layer); }

// Walks the forward graph from consumers to producers and emits the steps.
struct BackwardGraph::Builder {
  // The gradient of one output of a forward node: how many contributions are still to come, and
  // what of it stands, in the order of coming: contributions, the first perhaps the sum of those
  // before; `value` once it is whole.
  struct Target {
    int to_come = 0;
    std::vector<int> parts;
    int value = -1;
  };

  BackwardGraph& graph;
  Context& context;
  std::unordered_map<const Node*, std::vector<Target>> targets;
  std::unordered_map<const Recipe*, int> remade;  // their values
  std::vector<std::shared_ptr<Node>> complete_leaves;

  Target& target(const Edge& edge) { return targets.at(edge.node.get())[index(edge.output)]; }

  // Nodes that a gradient reaches, consumers first; counts the contributions to each output.
  std::vector<std::shared_ptr<Node>> reached(const std::shared_ptr<Node>& loss) {
    std::vector<std::shared_ptr<Node>> nodes{loss};
    targets[loss.get()].resize(loss->output_specs.size());
    for (std::size_t next = 0; next < nodes.size(); ++next) {
      const std::shared_ptr<Node> node = nodes[next];
      for (const GradientCall& call : node->calls) {
        for (const int input : call.gradient_of) {
          const Edge& edge = node->inputs[index(input)];
          if (!edge.node) continue;
          auto& outputs = targets[edge.node.get()];
          if (outputs.empty()) {
            outputs.resize(edge.node->output_specs.size());
            nodes.push_back(edge.node);
          }
          ++outputs[index(edge.output)].to_come;
        }
      }
    }
    std::sort(nodes.begin(), nodes.end(),
              [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
    return nodes;
  }

  int new_gradient(const TensorSpec& spec, std::string of, Tensor destination = {}) {
    graph.gradients_.push_back({spec, std::move(of), std::move(destination), 0});
    return static_cast<int>(graph.gradients_.size()) - 1;
  }

  BackwardInput read(int gradient) {
    ++graph.gradients_[index(gradient)].uses;
    return {.gradient = gradient};
  }

  void emit(std::shared_ptr<const Op> op, const std::string& layer,
            std::vector<BackwardInput> inputs, std::vector<int> outputs) {
    graph.steps_.push_back({std::move(op), layer, std::move(inputs), std::move(outputs)});
    if (!context.options().record_refusals) return;
    const BackwardStep& step = graph.steps_.back();
    for (const BackwardInput& input : step.inputs) {
      if (input.retained) input.retained.storage()->readers.push_back(step.str());
    }
  }

  // The whole gradient of output `output` of `node`; zeros when nothing contributed.
  int whole_gradient(const Node& node, int output) {
    Target& whole = targets.at(&node)[index(output)];
    if (whole.value < 0) {
      const TensorSpec& spec = node.output_specs[index(output)];
      whole.value = new_gradient(spec, name_of(node, output));
      emit(std::make_shared<Fill>(spec, 0.0f), node.layer, {}, {whole.value});
    }
    return whole.value;
  }

  static std::string name_of(const Node& node, int output) {
    return node.is_leaf() ? node.layer : "output " + std::to_string(output) + " of " + node.str();
  }

  // A new contribution by `op` to the gradient behind `edge`. A parameter's first one is written
  // where its gradient belongs, where the others are added to it; but a view writes nothing.
  int contribute(const Edge& edge, const Op& op) {
    const Node& node = *edge.node;
    Target& whole = target(edge);
    const bool in_its_place = node.gradient && whole.parts.empty() && !op.is_view();
    const int value =
        new_gradient(node.output_specs[index(edge.output)], name_of(node, edge.output),
                     in_its_place ? node.gradient : Tensor());
    --whole.to_come;
    whole.parts.push_back(value);
    return value;
  }

  // Sums what stands of the gradient behind `edge` where nothing more will come or too much is
  // alive.
  void aggregate(const Edge& edge) {
    Target& whole = target(edge);
    const Node& node = *edge.node;
    if (whole.value >= 0) return;
    const bool complete = whole.to_come == 0;
    const bool alone = whole.parts.size() == 1 &&
                       (!node.gradient || graph.gradients_[index(whole.parts[0])].destination);
    const std::size_t most = node.is_leaf() ? kMostPartsOfParameter : kMostParts;
    if (!alone && (complete || whole.parts.size() >= most)) sum(edge, whole);
    if (!complete) return;
    whole.value = whole.parts.front();
    if (node.is_leaf() && !node.gradient) complete_leaves.push_back(edge.node);
  }

  // To be called once the calls of a node are emitted, the last that read its parameters.
  void give_to_update() {
    for (std::shared_ptr<Node>& leaf : complete_leaves) {
      const int value = targets.at(leaf.get()).front().value;
      ++graph.gradients_[index(value)].uses;
      graph.whole_.push_back({graph.steps_.size() - 1, std::move(leaf), value});
    }
    complete_leaves.clear();
  }

  // In the order of coming: the bits are those of one sum of all contributions, wherever they meet.
  void sum(const Edge& edge, Target& whole) {
    const Node& node = *edge.node;
    std::vector<BackwardInput> inputs;
    for (const int part : whole.parts) inputs.push_back(read(part));
    const int value = new_gradient(node.output_specs[index(edge.output)],
                                   name_of(node, edge.output), node.gradient);
    emit(std::make_shared<Sum>(static_cast<int>(whole.parts.size())), node.layer, std::move(inputs),
         {value});
    whole.parts = {value};
  }

  BackwardInput input_of(const Recipe::Ingredient& ingredient) {
    if (!ingredient.recipe) return {.retained = ingredient.tensor};
    const Recipe& recipe = *ingredient.recipe;
    const auto [known, is_new] = remade.try_emplace(&recipe, -1);
    if (!is_new) return read(known->second);
    std::vector<BackwardInput> inputs;
    for (const Recipe::Ingredient& part : recipe.ingredients) inputs.push_back(input_of(part));
    const int value = new_gradient(recipe.spec, op_of_layer(recipe.op->name(), recipe.layer));
    graph.gradients_[index(value)].remade = true;
    emit(recipe.op, recipe.layer, std::move(inputs), {value});
    remade[&recipe] = value;
    return read(value);
  }

  void emit_call(const Node& node, const GradientCall& call) {
    std::vector<BackwardInput> inputs;
    for (const GradientSource& source : call.sources) {
      if (source.kind == GradientSource::Kind::kGradOutput) {
        inputs.push_back(read(whole_gradient(node, source.index)));
      } else {
        inputs.push_back(input_of(node.retained_ingredient(source)));
      }
    }
    std::vector<int> outputs;
    for (const int input : call.gradient_of) {
      const Edge& edge = node.inputs[index(input)];
      outputs.push_back(edge.node ? contribute(edge, *call.op) : new_gradient({}, "nothing"));
    }
    emit(call.op, node.layer, std::move(inputs), std::move(outputs));
    for (const int input : call.gradient_of) {
      const Edge& edge = node.inputs[index(input)];
      if (edge.node) aggregate(edge);
    }
  }

  void build(Tensor loss) {
    const Edge edge = loss.edge();
    const auto nodes = reached(edge.node);
    const TensorSpec spec = loss.spec();
    target(edge).value = new_gradient(spec, "loss");
    emit(std::make_shared<GradientSeed>(), "", {{.retained = loss.detach()}}, {target(edge).value});
    for (const std::shared_ptr<Node>& node : nodes) {
      for (const GradientCall& call : node->calls) emit_call(*node, call);
      give_to_update();
      for (const Node::Retained& kept : node->retained) {
        if (kept.ingredient.tensor) forget_reader(kept.ingredient.tensor, node->str());
      }
      node->retained.clear();
      node->recipe.reset();
    }
  }
};

BackwardGraph::BackwardGraph(Context& context, Tensor loss) {
  if (!loss || loss.shape().elements() != 1) {
    throw ShapeError("backward", "loss", loss ? loss.spec().str() : "an empty tensor",
                     "one element");
  }
  if (!loss.requires_grad()) {
    throw std::invalid_argument("[backward] the loss depends on no parameter");
  }
  Builder{*this, context, {}}.build(std::move(loss));
}

BackwardGraph::~BackwardGraph() = default;

void BackwardGraph::reorder(std::span<const int> order) {
  if (!whole_.empty()) throw std::logic_error("[backward] gradients go to an update in this order");
  if (order.size() != steps_.size()) {
    throw std::invalid_argument("[backward] order has " + std::to_string(order.size()) +
                                " steps, expected " + std::to_string(steps_.size()));
  }
  std::vector<bool> written(gradients_.size(), false);
  std::vector<bool> placed(steps_.size(), false);
  for (const int number : order) {
    if (number < 0 || index(number) >= steps_.size() || placed[index(number)]) {
      throw std::invalid_argument("[backward] order is no permutation: step " +
                                  std::to_string(number));
    }
    placed[index(number)] = true;
    for (const BackwardInput& input : steps_[index(number)].inputs) {
      if (input.gradient >= 0 && !written[index(input.gradient)]) {
        throw std::invalid_argument("[backward] " + steps_[index(number)].str() +
                                    " would read the gradient of " +
                                    gradients_[index(input.gradient)].of + " before it is written");
      }
    }
    for (const int output : steps_[index(number)].outputs) written[index(output)] = true;
  }
  std::vector<BackwardStep> reordered;
  for (const int number : order) reordered.push_back(std::move(steps_[index(number)]));
  steps_ = std::move(reordered);
}

StepGraph BackwardGraph::preview(Context& context) const {
  std::vector<ValueId> ids(gradients_.size());
  for (std::size_t g = 0; g < gradients_.size(); ++g) {
    if (gradients_[g].destination) ids[g] = context.value_of(*gradients_[g].destination.storage());
  }
  for (const BackwardStep& step : steps_) {
    for (const BackwardInput& input : step.inputs) {
      if (input.retained) context.value_of(*input.retained.storage());
    }
  }
  StepGraph graph = context.step_graph();
  for (const BackwardStep& step : steps_) {
    StepOp op{.name = std::string(step.op->name()),
              .layer = step.layer,
              .phase = Phase::kBackward,
              .in_place = step.op->in_place()};
    std::vector<TensorSpec> specs;
    for (const BackwardInput& input : step.inputs) {
      const bool is_gradient = input.gradient >= 0;
      specs.push_back(is_gradient ? gradients_[index(input.gradient)].spec : input.retained.spec());
      op.inputs.push_back(is_gradient ? ids[index(input.gradient)]
                                      : context.value_of(*input.retained.storage()));
    }
    const bool view = step.op->is_view();
    if (!view) {
      op.workspace_bytes = context.workspace_bytes(*step.op, *context.kernel(*step.op, specs));
    }
    const std::vector<OutputSpec> outputs = step.op->outputs(specs);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const std::size_t g = index(step.outputs[j]);
      if (!gradients_[g].destination) {
        ids[g] = static_cast<ValueId>(graph.values.size());
        const ValueId storage = view ? graph.values[op.inputs[0]].storage : ids[g];
        graph.values.push_back({.bytes = outputs[j].spec.bytes(),
                                .category = outputs[j].category,
                                .storage = storage,
                                .layer = step.layer});
      }
      op.outputs.push_back(ids[g]);
    }
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

void BackwardGraph::run(Context& context, const Update& update) {
  if (std::exchange(has_run_, true)) throw std::logic_error("[backward] a graph runs once");
  if (!whole_.empty() && !update) throw std::logic_error("[backward] gradients have no update");
  auto next_whole = whole_.begin();
  const bool explain = context.options().record_refusals;
  std::vector<std::vector<std::string>> readers(explain ? gradients_.size() : 0);
  if (explain) {
    for (const BackwardStep& step : steps_) {
      for (const BackwardInput& input : step.inputs) {
        if (input.gradient >= 0) readers[index(input.gradient)].push_back(step.str());
      }
    }
  }
  std::vector<Tensor> live(gradients_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    BackwardStep& step = steps_[s];
    std::vector<Tensor> inputs;
    for (BackwardInput& input : step.inputs) {
      if (input.gradient < 0) {
        inputs.push_back(std::exchange(input.retained, {}));
      } else if (--gradients_[index(input.gradient)].uses == 0) {
        inputs.push_back(std::move(live[index(input.gradient)]));
      } else {
        inputs.push_back(live[index(input.gradient)]);
      }
      if (explain) forget_reader(inputs.back(), step.str());
    }
    std::vector<Tensor> destinations;
    for (const int output : step.outputs) {
      destinations.push_back(gradients_[index(output)].destination);
    }
    std::vector<Tensor> outputs =
        context.execute(*step.op, std::move(inputs), destinations, Phase::kBackward, step.layer);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const std::size_t g = index(step.outputs[j]);
      if (explain && !gradients_[g].destination) {
        auto& waiting = outputs[j].storage()->readers;
        waiting.insert(waiting.end(), readers[g].begin(), readers[g].end());
      }
      if (gradients_[g].uses > 0) live[g] = std::move(outputs[j]);
    }
    for (; next_whole != whole_.end() && next_whole->step == s; ++next_whole) {
      update(*next_whole->leaf, std::move(live[index(next_whole->gradient)]));
    }
  }
}

struct BackwardGraph::Exported {
  std::string op, layer;
  std::vector<std::string> reads, writes;
};

std::vector<BackwardGraph::Exported> BackwardGraph::exported() const {
  std::vector<Exported> result;
  const auto gradient = [this](int g) {
    const GradientValue& value = gradients_[index(g)];
    return "g" + std::to_string(g) + (value.remade ? ": again " : ": gradient of ") + value.of;
  };
  for (const BackwardStep& step : steps_) {
    Exported line{std::string(step.op->name()), step.layer, {}, {}};
    for (const BackwardInput& input : step.inputs) {
      if (input.gradient >= 0) {
        line.reads.push_back(gradient(input.gradient));
      } else {
        line.reads.push_back(input.retained ? "retained " + input.retained.spec().str()
                                            : "retained, released");
      }
    }
    for (const int output : step.outputs) line.writes.push_back(gradient(output));
    result.push_back(std::move(line));
  }
  return result;
}

std::string BackwardGraph::to_text() const {
  std::string text;
  const auto list = [&text](const char* title, const std::vector<std::string>& names) {
    text += title;
    for (std::size_t k = 0; k < names.size(); ++k) text += (k > 0 ? ", " : "") + names[k];
  };
  for (const Exported& step : exported()) {
    text += op_of_layer(step.op, step.layer);
    list(" | reads ", step.reads);
    list(" | writes ", step.writes);
    text += '\n';
  }
  return text;
}

std::string BackwardGraph::to_dot() const {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string dot = "digraph backward {\n  node [shape=box];\n";
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::string name = "step" + std::to_string(s);
    dot += "  " + name + " [label=" + quoted(steps_[s].str()) + "];\n";
    for (const BackwardInput& input : steps_[s].inputs) {
      if (input.gradient >= 0)
        dot += "  g" + std::to_string(input.gradient) + " -> " + name + ";\n";
    }
    for (const int output : steps_[s].outputs) {
      const std::string value = "g" + std::to_string(output);
      dot += "  " + value + " [shape=ellipse, label=" + quoted(gradients_[index(output)].of) +
             "];\n  " + name + " -> " + value + ";\n";
    }
  }
  return dot + "}\n";
}

std::string BackwardGraph::to_json() const {
  nlohmann::json json{{"steps", nlohmann::json::array()}, {"gradients", nlohmann::json::array()}};
  for (const Exported& step : exported()) {
    json["steps"].push_back(
        {{"op", step.op}, {"layer", step.layer}, {"reads", step.reads}, {"writes", step.writes}});
  }
  for (const GradientValue& gradient : gradients_) {
    json["gradients"].push_back({{"of", gradient.of},
                                 {"spec", gradient.spec.str()},
                                 {"bytes", gradient.spec.bytes()},
                                 {"parameter", static_cast<bool>(gradient.destination)}});
  }
  return json.dump();
}

}  // namespace skyline
