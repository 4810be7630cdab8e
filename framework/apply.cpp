#include "framework/apply.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "framework/node.h"
#include "framework/retention.h"

namespace skyline {
namespace {

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

Tensor with_leaf(const Tensor& tensor, std::string name, Tensor gradient) {
  auto leaf = std::make_shared<Node>();
  leaf->layer = std::move(name);
  leaf->output_specs = {tensor.spec()};
  leaf->gradient = std::move(gradient);
  return Tensor(tensor.spec(), tensor.storage(), {std::move(leaf), 0});
}

}  // namespace

Parameter make_parameter(Context& context, const TensorSpec& spec, std::string name,
                         const void* host) {
  Parameter parameter{.name = name,
                      .value = context.resident(spec, Category::kParameter, name, host)};
  const auto& frozen = context.options().frozen;
  if (!context.training() || std::ranges::find(frozen, name) != frozen.end()) return parameter;
  if (!context.options().fused_update) {
    parameter.gradient = context.resident(spec, Category::kParameterGradient, name);
  }
  parameter.value = with_leaf(parameter.value, std::move(name), parameter.gradient);
  return parameter;
}

Tensor require_gradient(const Context& context, const Tensor& tensor, std::string name) {
  return context.training() ? with_leaf(tensor, std::move(name), {}) : tensor;
}

std::vector<Tensor> apply(Context& context, std::shared_ptr<const Op> op,
                          std::vector<Tensor> inputs, std::span<const Tensor> destinations) {
  const std::string layer = layer_of(context, inputs);
  const std::shared_ptr<Node> node = make_node(context, op, inputs, layer);
  Retention retention(context, op, node.get(), node.get(), inputs, layer);
  std::vector<Tensor> outputs =
      context.execute(*op, std::move(inputs), destinations, Phase::kForward, layer);
  retention.keep(outputs);
  if (!node) return outputs;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    node->output_specs.push_back(outputs[j].spec());
    outputs[j] = Tensor(outputs[j].spec(), outputs[j].storage(), {node, static_cast<int>(j)});
  }
  return outputs;
}

Tensor apply(Context& context, Link link, Tensor x) {
  std::optional<LayerScope> scope;
  if (!link.layer.empty()) scope.emplace(context, link.layer);
  const bool needs_gradient = context.training() && x.requires_grad();
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  std::ranges::move(link.operands, std::back_inserter(inputs));
  if (!link.parts.empty()) {
    return apply_fused(context, link.op, link.parts, std::move(inputs));
  }
  const auto& op = link.bare && !needs_gradient ? link.bare : link.op;
  return std::move(apply(context, op, std::move(inputs)).front());
}

Tensor apply_fused(Context& context, const std::shared_ptr<const Op>& fused,
                   std::span<const std::shared_ptr<const Op>> parts, std::vector<Tensor> inputs) {
  if (context.emulation().chainer_ops) {
    for (const std::shared_ptr<const Op>& part : parts) {
      inputs = apply(context, part, std::move(inputs));
    }
    return std::move(inputs.front());
  }
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
