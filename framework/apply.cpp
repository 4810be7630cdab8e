#include "framework/apply.h"

#include <algorithm>
#include <optional>
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

// What to keep for a tensor: how to make it again, or itself.
Recipe::Ingredient ingredient_of(const Tensor& tensor,
                                 const std::shared_ptr<const Recipe>& recipe) {
  if (recipe) return {{}, recipe};
  tensor.storage()->retained = true;
  return {tensor.detach(), nullptr};
}

std::shared_ptr<const Recipe> recipe_of(const Tensor& tensor) {
  const Edge& edge = tensor.edge();
  return edge.node && edge.output == 0 ? edge.node->recipe : nullptr;
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
          {kind, source.index, ingredient_of(tensor, own ? node.recipe : recipe_of(tensor))});
      if (context.options().record_refusals && node.retained.back().ingredient.tensor) {
        tensor.storage()->readers.push_back(node.str());
      }
    }
  }
}

// The recipe of output 0 of an op about to run, as far as its inputs go: none where it would keep a
// tensor that nothing else keeps.
std::shared_ptr<Recipe> begin_recipe(const Context& context, const std::shared_ptr<const Op>& op,
                                     const Remake& remake, const std::vector<Tensor>& inputs,
                                     const std::string& layer) {
  auto recipe = std::make_shared<Recipe>();
  recipe->op = remake.op ? remake.op : op;
  recipe->layer = layer;
  for (const GradientSource& source : remake.sources) {
    if (source.kind != GradientSource::Kind::kInput) continue;
    const Tensor& input = inputs[static_cast<std::size_t>(source.index)];
    const std::shared_ptr<const Recipe> made_of = recipe_of(input);
    if (made_of) recipe->depth = std::max(recipe->depth, made_of->depth + 1);
    const Storage& storage = *input.storage();
    if (!made_of && !storage.retained && !storage.resident) return nullptr;
    recipe->ingredients.push_back({made_of ? Tensor() : input.detach(), made_of});
  }
  return recipe->depth <= context.options().recompute ? recipe : nullptr;
}

// A forward op on its way: what its nodes keep of its inputs before it runs, so that it does not
// write over what its gradient or a recipe will read, and of its outputs afterwards.
class Retention {
 public:
  // `first` and `last` are the ends of a chain, null where no gradient will be asked of it.
  Retention(Context& context, const std::shared_ptr<const Op>& op, Node* first, Node* last,
            const std::vector<Tensor>& inputs, const std::string& layer)
      : context_(context), last_(last) {
    if (first == nullptr) return;
    retain(context, *first, GradientSource::Kind::kInput, inputs);
    if (context.options().recompute == 0) return;
    std::vector<TensorSpec> specs;
    for (const Tensor& input : inputs) specs.push_back(input.spec());
    remake_ = op->remake(specs);
    if (remake_) recipe_ = begin_recipe(context, op, *remake_, inputs, layer);
  }

  void keep(const std::vector<Tensor>& outputs) {
    if (last_ == nullptr) return;
    if (recipe_) {
      recipe_->spec = outputs.front().spec();
      for (std::size_t i = 0; i < remake_->sources.size(); ++i) {
        const GradientSource& source = remake_->sources[i];
        if (source.kind != GradientSource::Kind::kOutput) continue;
        const Tensor& output = outputs[static_cast<std::size_t>(source.index)];
        recipe_->ingredients.insert(recipe_->ingredients.begin() + static_cast<std::ptrdiff_t>(i),
                                    {output.detach(), nullptr});
      }
      last_->recipe = recipe_;
    }
    retain(context_, *last_, GradientSource::Kind::kOutput, outputs);
  }

 private:
  Context& context_;
  Node* last_;
  std::optional<Remake> remake_;
  std::shared_ptr<Recipe> recipe_;
};

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

void backward(Context& context, Tensor loss) {
  BackwardGraph(context, std::move(loss)).run(context);
}

}  // namespace skyline
