#include "framework/retention.h"

#include <algorithm>
#include <utility>

#include "framework/context.h"
#include "framework/node.h"
#include "memory/alignment.h"

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
  return edge.node ? edge.node->recompute_step(edge.output) : nullptr;
}

// Keeps those of `tensors` that the gradient calls read as `kind`.
void retain(const Context& context, Node& node, Kind kind, const std::vector<Tensor>& tensors) {
  for (const GradientCall& call : node.calls) {
    for (const GradientSource& source : call.sources) {
      if (source.kind != kind || retains(node, source)) continue;
      const Tensor& tensor = tensors[static_cast<std::size_t>(source.index)];
      const bool own = kind == Kind::kOutput;
      node.retained.push_back(
          {kind, source.index,
           source_of(tensor, own ? node.recompute_step(source.index) : recompute_step_of(tensor))});
      if (context.watch().record_graph && node.retained.back().source.tensor) {
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
  if (!context.may_recompute()) return;
  const std::vector<TensorSpec> specs = specs_of(inputs);
  const ValueName name = context.name_differentiable(op->name(), layer);
  if (op->is_view()) {
    begin_view(inputs, layer);
    return;
  }
  for (Recomputation& how : op->recomputations(specs)) {
    Candidate& output = candidates_.emplace_back();
    output.name = name;
    output.name.output = how.output;
    output.op = how.op ? how.op : op;
    output.how = std::move(how);
    choose_step(output, inputs, layer);
    if (!output.step && context.watch().record_graph) begin_recomputation(output, inputs);
  }
}

void Retention::begin_view(const std::vector<Tensor>& inputs, const std::string& layer) {
  const auto viewed = recompute_step_of(inputs.front());
  if (!viewed) return;
  Candidate& output = candidates_.emplace_back();
  output.op = op_;
  output.how = Recomputation::from_inputs(1);
  begin_step(output, inputs, layer);
  output.step->each = viewed->each;
}

void Retention::keep(const std::vector<Tensor>& outputs) {
  if (last_ == nullptr) return;
  for (Candidate& output : candidates_) {
    if (output.recomputation) complete_recomputation(output, outputs);
    if (output.step) complete_step(output, outputs);
  }
  retain(context_, *last_, Kind::kOutput, outputs);
}

// The options name the output, or its op is cheap and the chain short.
void Retention::choose_step(Candidate& output, const std::vector<Tensor>& inputs,
                            const std::string& layer) {
  const int most = context_.options().recompute;
  const Recomputing named = context_.recomputing(output.name);
  const bool is_named = named != Recomputing::kNever;
  if (!is_named && (most == 0 || !output.how.cheap)) return;
  begin_step(output, inputs, layer);
  output.step->each = named == Recomputing::kEach;
  if (!is_named && (output.step->depth > most || !keeps_nothing_more(*output.step))) {
    output.step.reset();
  }
}

void Retention::begin_step(Candidate& output, const std::vector<Tensor>& inputs,
                           const std::string& layer) {
  output.step = std::make_shared<RecomputeStep>();
  RecomputeStep& step = *output.step;
  step.op = output.op;
  step.layer = layer;
  for (const GradientSource& source : output.how.sources) {
    if (source.kind != Kind::kInput) continue;
    const Tensor& input = inputs[index(source.index)];
    const std::shared_ptr<const RecomputeStep> before = recompute_step_of(input);
    if (before) step.depth = std::max(step.depth, before->depth + 1);
    step.sources.push_back({before ? Tensor() : input.detach(), before});
  }
}

void Retention::complete_step(Candidate& output, const std::vector<Tensor>& outputs) {
  RecomputeStep& step = *output.step;
  step.spec = outputs[index(output.how.output)].spec();
  if (!output.how.op) {
    step.output = output.how.output;
    step.outputs = outputs.size();
  }
  for (std::size_t i = 0; i < output.how.sources.size(); ++i) {
    const GradientSource& source = output.how.sources[i];
    if (source.kind != Kind::kOutput) continue;
    step.sources.insert(step.sources.begin() + static_cast<std::ptrdiff_t>(i),
                        {outputs[index(source.index)].detach(), nullptr});
  }
  for (const RecomputeStep::Source& source : step.sources) {
    if (source.tensor) source.tensor.storage()->retained = true;
  }
  last_->recompute.resize(outputs.size());
  last_->recompute[index(output.how.output)] = output.step;
}

void Retention::begin_recomputation(Candidate& output, const std::vector<Tensor>& inputs) {
  RecordedRecomputation& recomputation = output.recomputation.emplace();
  recomputation.name = output.name;
  recomputation.share = output.how.share;
  for (const GradientSource& source : output.how.sources) {
    if (source.kind != Kind::kInput) continue;
    const Tensor& input = inputs[index(source.index)];
    recomputation.inputs.push_back(context_.recorder().value_of(input));
    output.input_specs.push_back(input.spec());
  }
}

void Retention::complete_recomputation(Candidate& output, const std::vector<Tensor>& outputs) {
  RecordedRecomputation& recomputation = *output.recomputation;
  std::vector<TensorSpec>& specs = output.input_specs;
  for (std::size_t i = 0; i < output.how.sources.size(); ++i) {
    const GradientSource& source = output.how.sources[i];
    if (source.kind != Kind::kOutput) continue;
    const Tensor& read = outputs[index(source.index)];
    const auto at = static_cast<std::ptrdiff_t>(i);
    recomputation.inputs.insert(recomputation.inputs.begin() + at,
                                context_.recorder().value_of(read));
    specs.insert(specs.begin() + at, read.spec());
  }
  recomputation.op = static_cast<OpId>(context_.step_graph().ops.size() - 1);
  recomputation.value = context_.recorder().value_of(outputs[index(output.how.output)]);
  const std::shared_ptr<Kernel> kernel = context_.kernels().get(*output.op, specs);
  recomputation.engine = kernel->engine_use();
  for (const InPlacePair& pair : context_.in_place_pairs(*output.op, *kernel)) {
    const int written = output.how.op ? 0 : output.how.output;
    if (pair.output == written) {
      recomputation.in_place.push_back({.input = pair.input, .output = 0});
    }
  }
  recomputation.workspace_bytes =
      align_up(context_.workspace_bytes(*output.op, *kernel), kAlignmentBytes);
  for (std::size_t j = 0; !output.how.op && j < outputs.size(); ++j) {
    if (j == index(output.how.output)) continue;
    recomputation.workspace_bytes += align_up(outputs[j].spec().bytes(), kAlignmentBytes);
  }
  context_.recorder().add_recomputation(std::move(recomputation));
}

}  // namespace skyline
