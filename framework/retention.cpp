#include "framework/retention.h"

#include <algorithm>
#include <utility>

#include "framework/context.h"
#include "framework/node.h"

namespace skyline {
namespace {

using Kind = GradientSource::Kind;

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
void retain(const Context& context, Node& node, Kind kind, const std::vector<Tensor>& tensors) {
  for (const GradientCall& call : node.calls) {
    for (const GradientSource& source : call.sources) {
      if (source.kind != kind || retains(node, source)) continue;
      const Tensor& tensor = tensors[static_cast<std::size_t>(source.index)];
      const bool own = kind == Kind::kOutput && source.index == 0;
      node.retained.push_back(
          {kind, source.index,
           source_of(tensor, own ? node.recompute : recompute_step_of(tensor))});
      if (context.options().record_graph && node.retained.back().source.tensor) {
        tensor.storage()->readers.push_back(node.str());
      }
    }
  }
}

// True if the step keeps no tensor that nothing else keeps.
bool keeps_nothing_more(const RecomputeStep& step) {
  return std::ranges::all_of(step.sources, [](const RecomputeStep::Source& source) {
    return source.step || source.tensor.storage()->retained || source.tensor.storage()->resident;
  });
}

}  // namespace

std::vector<TensorSpec> specs_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const Tensor& tensor : tensors) specs.push_back(tensor.spec());
  return specs;
}

Retention::Retention(Context& context, const std::shared_ptr<const Op>& op, Node* first, Node* last,
                     const std::vector<Tensor>& inputs, const std::string& layer)
    : context_(context), op_(op), last_(last) {
  if (first == nullptr) return;
  retain(context, *first, Kind::kInput, inputs);
  number_ = context.count_differentiable();
  if (!context.may_recompute()) return;
  if (op->is_view()) {
    const auto viewed = recompute_step_of(inputs.front());
    if (!viewed) return;
    recomputation_ = Recomputation::from_inputs(1);
    begin_step(inputs, layer);
    step_->each = viewed->each;
    return;
  }
  recomputation_ = op->recomputation(specs_of(inputs));
  if (!recomputation_) return;
  if (recomputation_->op) op_ = recomputation_->op;
  choose_step(inputs, layer);
  if (!step_ && context.options().record_graph) begin_remake(inputs);
}

void Retention::keep(const std::vector<Tensor>& outputs) {
  if (last_ == nullptr) return;
  if (remake_) complete_remake(outputs);
  if (step_) {
    complete_step(outputs);
    last_->recompute = step_;
  }
  retain(context_, *last_, Kind::kOutput, outputs);
}

// The options name the op, or it is cheap and its chain short.
void Retention::choose_step(const std::vector<Tensor>& inputs, const std::string& layer) {
  const int most = context_.options().recompute;
  const Recomputing named = context_.recomputing(number_);
  const bool is_named = named != Recomputing::kNever;
  if (!is_named && (most == 0 || !recomputation_->cheap)) return;
  begin_step(inputs, layer);
  step_->each = named == Recomputing::kEach;
  if (!is_named && (step_->depth > most || !keeps_nothing_more(*step_))) step_.reset();
}

void Retention::begin_step(const std::vector<Tensor>& inputs, const std::string& layer) {
  step_ = std::make_shared<RecomputeStep>();
  step_->op = op_;
  step_->layer = layer;
  for (const GradientSource& source : recomputation_->sources) {
    if (source.kind != Kind::kInput) continue;
    const Tensor& input = inputs[static_cast<std::size_t>(source.index)];
    const std::shared_ptr<const RecomputeStep> before = recompute_step_of(input);
    if (before) step_->depth = std::max(step_->depth, before->depth + 1);
    step_->sources.push_back({before ? Tensor() : input.detach(), before});
  }
}

void Retention::complete_step(const std::vector<Tensor>& outputs) {
  step_->spec = outputs.front().spec();
  for (std::size_t i = 0; i < recomputation_->sources.size(); ++i) {
    const GradientSource& source = recomputation_->sources[i];
    if (source.kind != Kind::kOutput) continue;
    const Tensor& output = outputs[static_cast<std::size_t>(source.index)];
    step_->sources.insert(step_->sources.begin() + static_cast<std::ptrdiff_t>(i),
                          {output.detach(), nullptr});
  }
  for (const RecomputeStep::Source& source : step_->sources) {
    if (source.tensor) source.tensor.storage()->retained = true;
  }
}

void Retention::begin_remake(const std::vector<Tensor>& inputs) {
  remake_.emplace();
  remake_->number = number_;
  remake_->in_place = op_->in_place();
  for (const GradientSource& source : recomputation_->sources) {
    if (source.kind != Kind::kInput) continue;
    const Tensor& input = inputs[static_cast<std::size_t>(source.index)];
    remake_->inputs.push_back(context_.recorder().value_of(input));
    remake_specs_.push_back(input.spec());
  }
}

void Retention::complete_remake(const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < recomputation_->sources.size(); ++i) {
    const GradientSource& source = recomputation_->sources[i];
    if (source.kind != Kind::kOutput) continue;
    const Tensor& output = outputs[static_cast<std::size_t>(source.index)];
    const auto at = static_cast<std::ptrdiff_t>(i);
    remake_->inputs.insert(remake_->inputs.begin() + at, context_.recorder().value_of(output));
    remake_specs_.insert(remake_specs_.begin() + at, output.spec());
  }
  remake_->op = static_cast<OpId>(context_.step_graph().ops.size() - 1);
  remake_->value = context_.recorder().value_of(outputs.front());
  remake_->workspace_bytes = context_.workspace_bytes(*op_, *context_.kernel(*op_, remake_specs_));
  context_.recorder().add_remake(*std::move(remake_));
}

}  // namespace skyline
