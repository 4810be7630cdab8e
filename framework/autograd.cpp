#include "framework/autograd.h"

#include <utility>

#include "framework/backward_graph.h"
#include "framework/node.h"

namespace skyline {
namespace {

bool retains(const Node& node, const GradientSource& source) {
  for (const Node::Retained& kept : node.retained) {
    if (kept.kind == source.kind && kept.index == source.index) return true;
  }
  return false;
}

// Keeps those of `tensors` that the gradient calls read as `kind`.
void retain(Context& context, Node& node, GradientSource::Kind kind,
            const std::vector<Tensor>& tensors) {
  for (const GradientCall& call : node.calls) {
    for (const GradientSource& source : call.sources) {
      if (source.kind != kind || retains(node, source)) continue;
      const Tensor& tensor = tensors[static_cast<std::size_t>(source.index)];
      node.retained.push_back({kind, source.index, tensor.detach()});
      if (context.options().record_refusals) tensor.storage()->readers.push_back(node.str());
    }
  }
}

// An op outside of all layer scopes belongs to the layer that made its first input: "relu of
// conv1".
std::string layer_of(const Context& context, const std::vector<Tensor>& inputs) {
  if (!context.layer().empty() || inputs.empty()) return context.layer();
  return inputs.front().storage()->layer;
}

// The node of an op about to run, or none when no gradient will be asked of it.
std::shared_ptr<Node> make_node(Context& context, const std::shared_ptr<const Op>& op,
                                const std::vector<Tensor>& inputs, const std::string& layer) {
  if (!context.training()) return nullptr;
  std::vector<bool> needed;
  std::vector<TensorSpec> specs;
  bool any = false;
  for (const Tensor& input : inputs) {
    needed.push_back(input.requires_grad());
    specs.push_back(input.spec());
    any = any || input.requires_grad();
  }
  if (!any) return nullptr;
  auto node = std::make_shared<Node>();
  node->calls = op->gradient(specs, needed);
  if (node->calls.empty()) return nullptr;
  node->op = op;
  node->layer = layer;
  node->sequence = context.next_sequence();
  for (const Tensor& input : inputs) node->inputs.push_back(input.edge());
  return node;
}

// The nodes of a fused chain, first part first; none when no gradient will be asked of it.
std::vector<std::shared_ptr<Node>> make_chain(Context& context,
                                              std::span<const std::shared_ptr<const Op>> parts,
                                              std::vector<Tensor> inputs,
                                              const std::string& layer) {
  std::vector<std::shared_ptr<Node>> nodes;
  for (const std::shared_ptr<const Op>& part : parts) {
    const std::shared_ptr<Node> node = make_node(context, part, inputs, layer);
    if (!node) return {};
    std::vector<TensorSpec> specs;
    for (const Tensor& input : inputs) specs.push_back(input.spec());
    const TensorSpec output = part->outputs(specs).front().spec;
    node->output_specs = {output};
    nodes.push_back(node);
    inputs = {Tensor(output, nullptr, {node, 0})};
  }
  return nodes;
}

}  // namespace

std::vector<GradientCall> Op::gradient(std::span<const TensorSpec>,
                                       const std::vector<bool>&) const {
  return {};
}

std::vector<Tensor> apply(Context& context, std::shared_ptr<const Op> op,
                          std::vector<Tensor> inputs) {
  const std::string layer = layer_of(context, inputs);
  const std::shared_ptr<Node> node = make_node(context, op, inputs, layer);
  // Before the op runs, so that it does not write over what its own gradient will read.
  if (node) retain(context, *node, GradientSource::Kind::kInput, inputs);
  std::vector<Tensor> outputs = context.execute(*op, std::move(inputs), {}, Phase::kForward, layer);
  if (!node) return outputs;
  retain(context, *node, GradientSource::Kind::kOutput, outputs);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    node->output_specs.push_back(outputs[j].spec());
    outputs[j] = Tensor(outputs[j].spec(), outputs[j].storage(), {node, static_cast<int>(j)});
  }
  return outputs;
}

Tensor apply_fused(Context& context, const Op& fused,
                   std::span<const std::shared_ptr<const Op>> parts, std::vector<Tensor> inputs) {
  const std::string layer = layer_of(context, inputs);
  const std::vector<std::shared_ptr<Node>> nodes = make_chain(context, parts, inputs, layer);
  if (!nodes.empty()) retain(context, *nodes.front(), GradientSource::Kind::kInput, inputs);
  std::vector<Tensor> outputs =
      context.execute(fused, std::move(inputs), {}, Phase::kForward, layer);
  if (nodes.empty()) return std::move(outputs.front());
  retain(context, *nodes.back(), GradientSource::Kind::kOutput, outputs);
  return Tensor(outputs.front().spec(), outputs.front().storage(), {nodes.back(), 0});
}

void backward(Context& context, Tensor loss) {
  BackwardGraph(context, std::move(loss)).run(context);
}

}  // namespace skyline
