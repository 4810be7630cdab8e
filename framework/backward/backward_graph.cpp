#include "framework/backward/backward_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "framework/backward/step_graph_maker.h"
#include "framework/node.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/support/sum_reader.h"

namespace skyline {
namespace {

// d loss / d loss, or its share of a mean, written over the loss if nobody else holds it.
class GradientSeed : public Op {
 public:
  explicit GradientSeed(float value) : value_(value) {}
  std::string_view name() const override { return "gradient_seed"; }
  std::string parameters() const override { return fmt::format("value={}", value_); }
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    return {{inputs[0], Category::kGradient}};
  }
  std::vector<InPlacePair> in_place() const override { return {{0, 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return Fill(inputs[0], value_).kernel(compute, {});
  }

 private:
  float value_;
};

// Parts of one gradient that may wait to be summed, see BackwardGraph.
constexpr std::size_t kMostParts = 5;
constexpr std::size_t kMostPartsSummedEarly = 2;

void forget_reader(const Tensor& tensor, const std::string& reader) {
  auto& readers = tensor.storage()->readers;
  const auto found = std::find(readers.begin(), readers.end(), reader);
  if (found != readers.end()) readers.erase(found);
}

}  // namespace

std::string GradientValue::name() const {
  if (kind == Kind::kUpdate) return of;
  return (kind == Kind::kRecomputed ? "recomputed " : "gradient of ") + of;
}

std::string BackwardStep::str() const { return op_of_layer(op->name(), layer); }

// Walks the forward graph from consumers to producers and emits the steps.
struct BackwardGraph::Builder {
  // The gradient of one output of a forward node.
  struct Target {
    int pending = 0;         // contributions still to arrive
    std::vector<int> parts;  // in order of arrival; the first may be the sum of earlier ones
    int value = -1;          // the whole gradient, once it is complete
  };

  BackwardGraph& graph;
  Context& context;
  BackwardOptions options;
  std::unordered_map<const Node*, std::vector<Target>> targets = {};
  std::unordered_map<const RecomputeStep*, int> recomputed = {};  // their newest values
  std::vector<const RecomputeStep*> made_for_reader = {};  // those that the next op alone reads
  std::vector<std::shared_ptr<Node>> complete_leaves = {};
  Edge unsummed = {};  // the two parts of its gradient wait for the next step

  // The tensor that the gradient of `node` is written to; none if it is a value of the graph.
  Tensor destination(const Node& node) const {
    return options.accumulate ? Tensor() : node.gradient;
  }
  Target& target(const Edge& edge) { return targets.at(edge.node.get())[index(edge.output)]; }

  // Returns the nodes that a gradient reaches, consumers first, and counts the contributions to
  // each output.
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
          ++outputs[index(edge.output)].pending;
        }
      }
    }
    std::sort(nodes.begin(), nodes.end(),
              [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
    return nodes;
  }

  int new_gradient(const TensorSpec& spec, std::string of, Tensor destination = {}) {
    graph.gradients_.push_back({spec, std::move(of), std::move(destination)});
    return static_cast<int>(graph.gradients_.size()) - 1;
  }

  BackwardInput read(int gradient) {
    ++graph.gradients_[index(gradient)].uses;
    return {.gradient = gradient};
  }

  void emit(std::shared_ptr<const Op> op, const std::string& layer,
            std::vector<BackwardInput> inputs, std::vector<int> outputs) {
    graph.steps_.push_back({.op = std::move(op),
                            .layer = layer,
                            .inputs = std::move(inputs),
                            .outputs = std::move(outputs),
                            .place = graph.steps_.size()});
    if (!context.watch().record_graph) return;
    const BackwardStep& step = graph.steps_.back();
    for (const BackwardInput& input : step.inputs) {
      if (input.retained) input.retained.storage()->readers.push_back(step.str());
    }
  }

  // Returns the whole gradient of output `output` of `node`; zeros if nothing contributed.
  int whole_gradient(const Node& node, int output) {
    Target& whole = targets.at(&node)[index(output)];
    if (whole.value < 0) {
      const TensorSpec& spec = node.output_specs[index(output)];
      whole.value = new_gradient(spec, name_of(node, output));
      emit(std::make_shared<Fill>(spec, 0.0f), node.layer, {}, {whole.value});
    }
    return whole.value;
  }

  std::string name_of(const Node& node, int output) const {
    if (node.is_leaf()) return node.layer;
    if (!context.watch().record_graph) return {};  // composing it takes long
    return "output " + std::to_string(output) + " of " + node.str();
  }

  // Adds a contribution by `op` to the gradient behind `edge`. A parameter's first contribution is
  // written into its gradient tensor, unless `op` is a view, which writes nothing.
  int contribute(const Edge& edge, const Op& op) {
    const Node& node = *edge.node;
    Target& whole = target(edge);
    const bool into_tensor = whole.parts.empty() && !op.is_view();
    const int value =
        new_gradient(node.output_specs[index(edge.output)], name_of(node, edge.output),
                     into_tensor ? destination(node) : Tensor());
    --whole.pending;
    whole.parts.push_back(value);
    return value;
  }

  // Sums the parts of the gradient behind `edge` if it is complete or too many parts are alive.
  void aggregate(const Edge& edge) {
    Target& whole = target(edge);
    const Node& node = *edge.node;
    if (whole.value >= 0) return;
    const bool complete = whole.pending == 0;
    const bool alone = whole.parts.size() == 1 &&
                       (!destination(node) || graph.gradients_[index(whole.parts[0])].destination);
    const std::size_t most =
        node.is_leaf() || context.sums_early() ? kMostPartsSummedEarly : kMostParts;
    if (complete && whole.parts.size() == 2 && sum_reader(edge) != nullptr) {
      sum_waiting(&node);
      unsummed = edge;
      return;
    }
    if (!alone && (complete || whole.parts.size() >= most)) sum(edge, whole);
    if (!complete) return;
    whole.value = whole.parts.front();
    if (!node.is_leaf() || destination(node)) return;
    if (node.gradient) {
      add_to_resident(node, whole.value);
    } else {
      complete_leaves.push_back(edge.node);
    }
  }

  // Returns the op that alone reads the gradient behind `edge`, if it can add two parts. Values may
  // be recomputed for it; with `recompute`, whose steps should be small, the sum alone is alive
  // then.
  const SumReader* sum_reader(const Edge& edge) const {
    const std::vector<GradientCall>& calls = edge.node->calls;
    if (context.sums_early() || context.options().recompute > 0 || edge.output != 0) return nullptr;
    return calls.size() == 1 ? dynamic_cast<const SumReader*>(calls.front().op.get()) : nullptr;
  }

  // Takes the only part so far of the gradient that a GradientAdder computes, if there is one.
  std::optional<int> part_to_add_to(const Node& node, const GradientCall& call) {
    if (dynamic_cast<const GradientAdder*>(call.op.get()) == nullptr) return {};
    const Edge& edge = node.inputs[index(call.gradient_of.front())];
    if (!edge.node || target(edge).parts.size() != 1) return {};
    const int part = target(edge).parts.front();
    target(edge).parts.clear();
    return part;
  }

  // Sums the parts that wait, unless `next` adds them.
  void sum_waiting(const Node* next) {
    if (!unsummed.node || unsummed.node.get() == next) return;
    const Edge edge = std::exchange(unsummed, {});
    sum(edge, target(edge));
    target(edge).value = target(edge).parts.front();
  }

  void add_to_resident(const Node& leaf, int gradient) {
    const int sum = new_gradient(leaf.output_specs.front(), leaf.layer, leaf.gradient);
    emit(std::make_shared<Sum>(2), leaf.layer, {{.retained = leaf.gradient}, read(gradient)},
         {sum});
  }

  // Notes which gradients just became complete. Called once all calls of a node are emitted: they
  // are the last to read these parameters.
  void note_complete() {
    for (const std::shared_ptr<Node>& leaf : complete_leaves) {
      const int value = targets.at(leaf.get()).front().value;
      graph.gradients_[index(value)].complete_at = graph.steps_.size() - 1;
      graph.whole_[leaf.get()] = value;
    }
    complete_leaves.clear();
  }

  // Adds in order of arrival, so that partial sums give the bits of one sum of all contributions.
  void sum(const Edge& edge, Target& whole) {
    const Node& node = *edge.node;
    std::vector<BackwardInput> inputs;
    for (const int part : whole.parts) inputs.push_back(read(part));
    const int value = new_gradient(node.output_specs[index(edge.output)],
                                   name_of(node, edge.output), destination(node));
    emit(std::make_shared<Sum>(static_cast<int>(whole.parts.size())), node.layer, std::move(inputs),
         {value});
    whole.parts = {value};
  }

  // Emits `source` as an input; a recompute step is emitted before its first reader, or before
  // each. What one input needed serves the op's other inputs, too.
  BackwardInput input_of(const RecomputeStep::Source& source) {
    if (!source.step) return {.retained = source.tensor};
    const RecomputeStep& step = *source.step;
    const auto known = recomputed.find(&step);
    if (known != recomputed.end()) return read(known->second);
    const std::size_t made = made_for_reader.size();
    std::vector<BackwardInput> inputs;
    for (const RecomputeStep::Source& input : step.sources) inputs.push_back(input_of(input));
    if (!step.op->is_view()) forget_made_since(made);  // a view is the bytes that it reads
    const std::vector<int> outputs = outputs_of(step);
    const int value = outputs[index(step.output)];
    emit(step.op, step.layer, std::move(inputs), outputs);
    recomputed[&step] = value;
    if (step.each) made_for_reader.push_back(&step);
    return read(value);
  }

  // Nothing reads the outputs besides the recomputed one.
  std::vector<int> outputs_of(const RecomputeStep& step) {
    std::vector<int> outputs;
    for (std::size_t j = 0; j < step.outputs; ++j) {
      outputs.push_back(new_gradient(step.spec, op_of_layer(step.op->name(), step.layer)));
      graph.gradients_[index(outputs.back())].kind = GradientValue::Kind::kRecomputed;
    }
    return outputs;
  }

  void forget_made_since(std::size_t count) {
    for (; made_for_reader.size() > count; made_for_reader.pop_back()) {
      recomputed.erase(made_for_reader.back());
    }
  }

  // An op of forward may have made a parameter's gradient where it belongs, see
  // linear_cross_entropy(). No step must have written over it.
  void require_untouched(const Node& leaf, const std::vector<BackwardInput>& read) const {
    const Storage* gradient = leaf.gradient ? leaf.gradient.storage().get() : nullptr;
    for (const BackwardInput& input : read) {
      if (gradient == nullptr || input.gradient >= 0 || input.retained.storage().get() != gradient)
        continue;
      if (targets.at(&leaf).front().parts.empty() && !options.accumulate) continue;
      throw std::logic_error("[backward] the gradient of " + leaf.layer +
                             " lies in its tensor since forward, but another comes before it");
    }
  }

  void emit_call(const Node& node, const GradientCall& call) {
    sum_waiting(&node);
    const SumReader* adder = unsummed.node ? sum_reader(std::exchange(unsummed, {})) : nullptr;
    const std::vector<int>& parts = targets.at(&node).front().parts;
    std::vector<BackwardInput> inputs;
    for (const GradientSource& source : call.sources) {
      if (source.kind == GradientSource::Kind::kGradOutput) {
        inputs.push_back(read(adder ? parts.front() : whole_gradient(node, source.index)));
      } else {
        inputs.push_back(input_of(node.retained_source(source)));
      }
    }
    forget_made_since(0);
    if (adder) inputs.push_back(read(parts.back()));
    std::shared_ptr<const Op> op = adder ? adder->of_sum() : call.op;
    if (const auto part = part_to_add_to(node, call)) {
      inputs.push_back(read(*part));
      op = dynamic_cast<const GradientAdder&>(*call.op).onto();
    }
    std::vector<int> outputs;
    for (const int input : call.gradient_of) {
      const Edge& edge = node.inputs[index(input)];
      if (edge.node) require_untouched(*edge.node, inputs);
      outputs.push_back(edge.node ? contribute(edge, *call.op)
                                  : new_gradient({}, "an unused input"));
    }
    emit(std::move(op), node.layer, std::move(inputs), std::move(outputs));
    for (const int input : call.gradient_of) {
      const Edge& edge = node.inputs[index(input)];
      if (edge.node) aggregate(edge);
    }
  }

  void build(Tensor loss) {
    const Edge edge = loss.edge();
    const auto nodes = reached(edge.node);
    graph.steps_.reserve(2 * nodes.size());  // moving a step takes longer than emitting it
    graph.gradients_.reserve(2 * nodes.size());
    const TensorSpec spec = loss.spec();
    target(edge).value = new_gradient(spec, "loss");
    emit(std::make_shared<GradientSeed>(options.seed), "", {{.retained = loss.detach()}},
         {target(edge).value});
    for (const std::shared_ptr<Node>& node : nodes) {
      for (const GradientCall& call : node->calls) emit_call(*node, call);
      note_complete();
      for (const Node::Retained& kept : node->retained) {
        if (kept.source.tensor) forget_reader(kept.source.tensor, node->str());
      }
      node->retained.clear();
      node->recompute.clear();
    }
  }
};

BackwardGraph::BackwardGraph(Context& context, Tensor loss, const BackwardOptions& options) {
  if (!loss || loss.shape().elements() != 1) {
    throw ShapeError("backward", "loss", loss ? loss.spec().str() : "an empty tensor",
                     "one element");
  }
  if (!loss.requires_grad()) {
    throw std::invalid_argument("[backward] the loss depends on no parameter");
  }
  if (options.accumulate && context.options().fused_update) {
    throw std::invalid_argument("[backward] fused updates leave no gradient to add to");
  }
  Builder{*this, context, options}.build(std::move(loss));
}

BackwardGraph::~BackwardGraph() = default;

std::optional<BackwardInput> BackwardGraph::gradient_of(const Parameter& parameter) const {
  if (parameter.gradient) return BackwardInput{.retained = parameter.gradient};
  const auto whole = whole_.find(parameter.value.edge().node.get());
  if (whole == whole_.end()) return {};
  return BackwardInput{.gradient = whole->second};
}

std::vector<BackwardInput> BackwardGraph::add_update(std::shared_ptr<const Op> op,
                                                     std::string layer,
                                                     std::vector<BackwardInput> inputs,
                                                     std::vector<Tensor> destinations,
                                                     std::optional<std::size_t> place) {
  BackwardStep step{.op = std::move(op),
                    .layer = std::move(layer),
                    .inputs = std::move(inputs),
                    .phase = Phase::kUpdate};
  std::optional<std::size_t> ready = place;
  std::vector<TensorSpec> specs;
  for (const BackwardInput& input : step.inputs) {
    if (input.gradient < 0) {
      specs.push_back(input.retained.spec());
      continue;
    }
    GradientValue& gradient = gradients_[index(input.gradient)];
    ++gradient.uses;
    specs.push_back(gradient.spec);
    if (!place && gradient.complete_at) ready = std::max(ready.value_or(0), *gradient.complete_at);
  }
  step.place = ready.value_or(kEnd);
  std::vector<BackwardInput> results;
  const std::vector<OutputSpec> outputs = step.op->outputs(specs);
  destinations.resize(outputs.size());
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const auto value = static_cast<int>(gradients_.size());
    if (!destinations[j]) results.push_back({.gradient = value});
    gradients_.push_back({.spec = outputs[j].spec,
                          .of = step.str(),
                          .destination = std::move(destinations[j]),
                          .kind = GradientValue::Kind::kUpdate,
                          .complete_at = place});
    step.outputs.push_back(value);
  }
  steps_.push_back(std::move(step));
  return results;
}

void BackwardGraph::replace_gradient(const Parameter& parameter, const BackwardInput& gradient) {
  whole_.at(parameter.value.edge().node.get()) = gradient.gradient;
}

std::unordered_map<const Storage*, std::size_t> BackwardGraph::places_written() const {
  std::unordered_map<const Storage*, std::size_t> places;
  for (const BackwardStep& step : steps_) {
    for (const int output : step.outputs) {
      const Tensor& destination = gradients_[index(output)].destination;
      if (destination) places[destination.storage().get()] = step.place;
    }
  }
  return places;
}

void BackwardGraph::reorder(std::span<const OpId> order) {
  std::vector<BackwardStep> reordered;
  for (const OpId op : order) {
    if (op > 0) reordered.push_back(std::move(steps_[op - 1]));  // op 0 is the forward pass
  }
  steps_ = std::move(reordered);
}

// The state of a running graph: the gradients that are alive.
class BackwardGraph::Run {
 public:
  Run(BackwardGraph& graph, Context& context)
      : graph_(graph),
        context_(context),
        recording_(context.watch().record_graph),
        live_(graph.gradients_.size()),
        readers_(recording_ ? graph.gradients_.size() : 0) {
    if (!recording_) return;
    for (const BackwardStep& step : graph_.steps_) {
      for (const BackwardInput& input : step.inputs) {
        if (input.gradient >= 0) readers_[index(input.gradient)].push_back(step.str());
      }
    }
  }

  void execute(BackwardStep& step) {
    std::vector<Tensor> inputs = take_inputs(step);
    std::vector<Tensor> destinations;
    for (const int output : step.outputs) {
      destinations.push_back(graph_.gradients_[index(output)].destination);
    }
    std::vector<Tensor> outputs =
        context_.execute(*step.op, std::move(inputs), destinations, step.phase, step.layer);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const std::size_t g = index(step.outputs[j]);
      if (recording_) note(step, g, outputs[j]);
      if (graph_.gradients_[g].uses > 0) live_[g] = std::move(outputs[j]);
    }
  }

  const Tensor& live(std::size_t gradient) const { return live_[gradient]; }

 private:
  // Moves each tensor out with its last use, so that the step may write over it.
  std::vector<Tensor> take_inputs(BackwardStep& step) {
    std::vector<Tensor> inputs;
    for (BackwardInput& input : step.inputs) {
      if (input.gradient < 0) {
        inputs.push_back(std::exchange(input.retained, {}));
      } else if (--graph_.gradients_[index(input.gradient)].uses == 0) {
        inputs.push_back(std::move(live_[index(input.gradient)]));
      } else {
        inputs.push_back(live_[index(input.gradient)]);
      }
      if (recording_) forget_reader(inputs.back(), step.str());
    }
    return inputs;
  }

  // Tells the recorder and later explanations what `output`, gradient g, is and who will read it.
  void note(const BackwardStep& step, std::size_t g, const Tensor& output) {
    const GradientValue& gradient = graph_.gradients_[g];
    const bool is_update = gradient.kind == GradientValue::Kind::kUpdate;
    if (!step.op->is_view() && !is_update) context_.recorder().rename(output, gradient.name());
    if (gradient.destination) return;
    auto& waiting = output.storage()->readers;
    waiting.insert(waiting.end(), readers_[g].begin(), readers_[g].end());
  }

  BackwardGraph& graph_;
  Context& context_;
  bool recording_;
  std::vector<Tensor> live_;
  std::vector<std::vector<std::string>> readers_;  // of each gradient
};

std::vector<Tensor> BackwardGraph::run(Context& context, std::span<const Tensor> wanted) {
  if (std::exchange(has_run_, true)) throw std::logic_error("[backward] a graph runs once");
  std::vector<std::size_t> kept;
  for (const Tensor& tensor : wanted) {
    const auto whole = whole_.find(tensor.edge().node.get());
    if (whole == whole_.end()) {
      throw std::invalid_argument("[backward] the loss does not depend on a wanted tensor");
    }
    kept.push_back(index(whole->second));
    ++gradients_[kept.back()].uses;
  }
  if (!std::ranges::is_sorted(steps_, {}, &BackwardStep::place)) {  // sorting moves every step
    std::ranges::stable_sort(steps_, {}, &BackwardStep::place);
  }
  if (const auto& orders = context.options().orders) {
    reorder(orders->of(structure_of(*this), [&] { return make_step_graph(context, *this); }));
  }
  Run run(*this, context);
  for (BackwardStep& step : steps_) run.execute(step);
  std::vector<Tensor> gradients;
  for (const std::size_t gradient : kept) gradients.push_back(run.live(gradient));
  return gradients;
}

std::vector<Tensor> backward(Context& context, Tensor loss, std::span<const Tensor> wanted) {
  return BackwardGraph(context, std::move(loss)).run(context, wanted);
}

}  // namespace skyline
