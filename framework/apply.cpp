#include "framework/apply.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/node.h"

namespace skyline {
namespace {

bool retains(const Node& node, const GradientSource& source) {
  for (const Node::Retained& kept : node.retained) {
    if (kept.kind == source.kind && kept.index == source.index) return true;
  }
  return false;
}

// Returns what to keep for a tensor: how to recompute it, or itself.
RecomputeStep::Source source_of(const Tensor& tensor,
                                const std::shared_ptr<const RecomputeStep>& step) {
  if (step) return {{}, step};
  tensor.storage()->retained = true;
  return {tensor.detach(), nullptr};
}

std::shared_ptr<const RecomputeStep> recompute_step_of(const Tensor& tensor) {
  const Edge& edge = tensor.edge();
  return edge.node && edge.output == 0 ? edge.node->recompute : nullptr;
}

// Keeps those of `tensors` that the gradient calls read as `kind`.
void retain(Context& context, Node& node, GradientSource::Kind kind,
            const std::vector<Tensor>& tensors) {
  for (const GradientCall& call : node.calls) {
    for (const GradientSource& source : call.sources) {
      if (source.kind != kind || retains(node, source)) continue;
      const Tensor& tensor = tensors[static_cast<std::size_t>(source.index)];
      const bool own = kind == GradientSource::Kind::kOutput && source.index == 0;
      node.retained.push_back(
          {kind, source.index,
           source_of(tensor, own ? node.recompute : recompute_step_of(tensor))});
      if (context.options().record_graph && node.retained.back().source.tensor) {
        tensor.storage()->readers.push_back(node.str());
      }
    }
  }
}

// Returns the recompute step for output 0 of an op about to run, with its inputs only. Null if it
// would keep a tensor that nothing else keeps, or if its chain would be too long.
std::shared_ptr<RecomputeStep> begin_recompute_step(const Context& context,
                                                    const std::shared_ptr<const Op>& op,
                                                    const Recomputation& recomputation,
                                                    const std::vector<Tensor>& inputs,
                                                    const std::string& layer) {
  auto step = std::make_shared<RecomputeStep>();
  step->op = recomputation.op ? recomputation.op : op;
  step->layer = layer;
  for (const GradientSource& source : recomputation.sources) {
    if (source.kind != GradientSource::Kind::kInput) continue;
    const Tensor& input = inputs[static_cast<std::size_t>(source.index)];
    const std::shared_ptr<const RecomputeStep> before = recompute_step_of(input);
    if (before) step->depth = std::max(step->depth, before->depth + 1);
    const Storage& storage = *input.storage();
    if (!before && !storage.retained && !storage.resident) return nullptr;
    step->sources.push_back({before ? Tensor() : input.detach(), before});
  }
  return step->depth <= context.options().recompute ? step : nullptr;
}

std::vector<TensorSpec> specs_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const Tensor& tensor : tensors) specs.push_back(tensor.spec());
  return specs;
}

// The tensors that the nodes of a forward op keep. Inputs are retained before the op runs, so that
// it cannot write over what its gradient or a recompute step will read; outputs are retained
// afterwards.
class Retention {
 public:
  // `first` and `last` are the ends of a chain of nodes, null if no gradient will be computed.
  Retention(Context& context, const std::shared_ptr<const Op>& op, Node* first, Node* last,
            const std::vector<Tensor>& inputs, const std::string& layer)
      : context_(context), last_(last) {
    if (first == nullptr) return;
    retain(context, *first, GradientSource::Kind::kInput, inputs);
    if (context.options().recompute == 0) return;
    recomputation_ = op->recomputation(specs_of(inputs));
    if (recomputation_) step_ = begin_recompute_step(context, op, *recomputation_, inputs, layer);
  }

  void keep(const std::vector<Tensor>& outputs) {
    if (last_ == nullptr) return;
    if (step_) {
      complete_step(outputs);
      last_->recompute = step_;
    }
    retain(context_, *last_, GradientSource::Kind::kOutput, outputs);
  }

 private:
  void complete_step(const std::vector<Tensor>& outputs) {
    step_->spec = outputs.front().spec();
    for (std::size_t i = 0; i < recomputation_->sources.size(); ++i) {
      const GradientSource& source = recomputation_->sources[i];
      if (source.kind != GradientSource::Kind::kOutput) continue;
      const Tensor& output = outputs[static_cast<std::size_t>(source.index)];
      step_->sources.insert(step_->sources.begin() + static_cast<std::ptrdiff_t>(i),
                            {output.detach(), nullptr});
    }
  }

  Context& context_;
  Node* last_;
  std::optional<Recomputation> recomputation_;
  std::shared_ptr<RecomputeStep> step_;
};

// An op outside all layer scopes belongs to the layer that made its first input: "relu of conv1".
std::string layer_of(const Context& context, const std::vector<Tensor>& inputs) {
  if (!context.layer().empty() || inputs.empty()) return context.layer();
  return inputs.front().storage()->layer;
}

// Returns the node of an op about to run, null if no gradient will be computed.
std::shared_ptr<Node> make_node(Context& context, const std::shared_ptr<const Op>& op,
                                const std::vector<Tensor>& inputs, const std::string& layer) {
  if (!context.training()) return nullptr;
  std::vector<bool> needed;
  for (const Tensor& input : inputs) needed.push_back(input.requires_grad());
  if (std::ranges::find(needed, true) == needed.end()) return nullptr;
  auto node = std::make_shared<Node>();
  node->calls = op->gradient(specs_of(inputs), needed);
  if (node->calls.empty()) return nullptr;
  node->op = op;
  node->layer = layer;
  node->sequence = context.next_sequence();
  for (const Tensor& input : inputs) node->inputs.push_back(input.edge());
  return node;
}

// Returns the nodes of a fused chain, first part first; none if no gradient will be computed.
std::vector<std::shared_ptr<Node>> make_chain(Context& context,
                                              std::span<const std::shared_ptr<const Op>> parts,
                                              std::vector<Tensor> inputs,
                                              const std::string& layer) {
  std::vector<std::shared_ptr<Node>> nodes;
  for (const std::shared_ptr<const Op>& part : parts) {
    const std::shared_ptr<Node> node = make_node(context, part, inputs, layer);
    if (!node) return {};
    const TensorSpec output = part->outputs(specs_of(inputs)).front().spec;
    node->output_specs = {output};
    nodes.push_back(node);
    inputs = {Tensor(output, nullptr, {node, 0})};
  }
  return nodes;
}

}  // namespace

Parameter make_parameter(Context& context, const TensorSpec& spec, std::string name,
                         const void* host) {
  Parameter parameter{.name = name,
                      .value = context.resident(spec, Category::kParameter, name, host)};
  if (!context.training()) return parameter;
  if (!context.options().fused_update) {
    parameter.gradient = context.resident(spec, Category::kParameterGradient, name);
  }
  auto leaf = std::make_shared<Node>();
  leaf->layer = std::move(name);
  leaf->output_specs = {spec};
  leaf->gradient = parameter.gradient;
  parameter.value = Tensor(spec, parameter.value.storage(), {std::move(leaf), 0});
  return parameter;
}

std::vector<Tensor> apply(Context& context, std::shared_ptr<const Op> op,
                          std::vector<Tensor> inputs) {
  const std::string layer = layer_of(context, inputs);
  const std::shared_ptr<Node> node = make_node(context, op, inputs, layer);
  Retention retention(context, op, node.get(), node.get(), inputs, layer);
  std::vector<Tensor> outputs = context.execute(*op, std::move(inputs), {}, Phase::kForward, layer);
  retention.keep(outputs);
  if (!node) return outputs;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    node->output_specs.push_back(outputs[j].spec());
    outputs[j] = Tensor(outputs[j].spec(), outputs[j].storage(), {node, static_cast<int>(j)});
  }
  return outputs;
}

Tensor apply_fused(Context& context, const std::shared_ptr<const Op>& fused,
                   std::span<const std::shared_ptr<const Op>> parts, std::vector<Tensor> inputs) {
  const std::string layer = layer_of(context, inputs);
  const std::vector<std::shared_ptr<Node>> nodes = make_chain(context, parts, inputs, layer);
  const bool chained = !nodes.empty();
  Retention retention(context, fused, chained ? nodes.front().get() : nullptr,
                      chained ? nodes.back().get() : nullptr, inputs, layer);
  std::vector<Tensor> outputs =
      context.execute(*fused, std::move(inputs), {}, Phase::kForward, layer);
  retention.keep(outputs);
  if (!chained) return std::move(outputs.front());
  return Tensor(outputs.front().spec(), outputs.front().storage(), {nodes.back(), 0});
}

}  // namespace skyline
