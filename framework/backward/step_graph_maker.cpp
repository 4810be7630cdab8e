#include "framework/backward/step_graph_maker.h"

#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "memory/order/control_edges.h"

namespace skyline {
namespace {

class Maker {
 public:
  Maker(Context& context, const BackwardGraph& graph)
      : context_(context), graph_(graph), gradients_(graph.gradients().size()) {
    // The run has needed its peak already, so the search need not go below. Rounded bytes: those of
    // the search are rounded, too, so that it ends as soon as it is down to that peak.
    const Statistics used = context.allocator().statistics();
    made_.ops.push_back(
        {.name = "forward", .workspace_bytes = used.peak_rounded_bytes - used.rounded_bytes});
  }

  StepGraph make() {
    for (const BackwardStep& step : graph_.steps()) add(step);
    add_resident_edges(made_);
    return std::move(made_);
  }

 private:
  const GradientValue& gradient(int number) const { return graph_.gradients()[index(number)]; }

  ValueId new_value(StepValue value) {
    const auto id = static_cast<ValueId>(made_.values.size());
    value.storage = id;
    made_.values.push_back(std::move(value));
    return id;
  }

  // A tensor that is there before the first step.
  ValueId value_of(const Tensor& tensor) {
    const Storage& storage = *tensor.storage();
    const auto [known, is_new] = tensors_.try_emplace(&storage);
    if (is_new) {
      known->second = new_value({.bytes = storage.block.bytes(),
                                 .category = storage.category,
                                 .resident = storage.resident,
                                 .layer = storage.layer});
      if (!storage.resident) made_.ops.front().outputs.push_back(known->second);
    }
    return known->second;
  }

  ValueId view_of(ValueId value) {
    const ValueId storage = made_.values[value].storage;
    const ValueId view = new_value(made_.values[storage]);
    made_.values[view].storage = storage;
    return view;
  }

  ValueId output(const BackwardStep& step, const OutputSpec& spec, int number) {
    const Tensor& destination = gradient(number).destination;
    if (destination) return value_of(destination);
    return new_value({.bytes = spec.spec.bytes(), .category = spec.category, .layer = step.layer});
  }

  void add(const BackwardStep& step) {
    StepOp op{.name = std::string(step.op->name()), .layer = step.layer, .phase = step.phase};
    std::vector<TensorSpec> specs;
    for (const BackwardInput& input : step.inputs) {
      const bool is_gradient = input.gradient >= 0;
      specs.push_back(is_gradient ? gradient(input.gradient).spec : input.retained.spec());
      op.inputs.push_back(is_gradient ? gradients_[index(input.gradient)]
                                      : value_of(input.retained));
    }
    if (!step.op->is_view()) {
      const std::shared_ptr<Kernel> kernel = context_.kernels().get(*step.op, specs);
      op.workspace_bytes = context_.workspace_bytes(*step.op, *kernel);
      op.in_place = context_.in_place_pairs(*step.op, *kernel);
    }
    const std::vector<OutputSpec> outputs = step.op->outputs(specs);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      ValueId& id = gradients_[index(step.outputs[j])];
      id = step.op->is_view() ? view_of(op.inputs[0]) : output(step, outputs[j], step.outputs[j]);
      op.outputs.push_back(id);
    }
    made_.ops.push_back(std::move(op));
  }

  Context& context_;
  const BackwardGraph& graph_;
  StepGraph made_;
  std::vector<ValueId> gradients_;  // of the graph, as values
  std::unordered_map<const Storage*, ValueId> tensors_;
};

// FNV-1a over whole numbers. Tensors count by the sequence in which they first occur.
class Hash {
 public:
  void add(const Tensor& tensor) {
    if (!tensor) return add(std::uint64_t{0});
    const Storage* storage = tensor.storage().get();
    add(std::uint64_t{storages_.try_emplace(storage, storages_.size() + 1).first->second});
  }
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 1099511628211u; }
  void add(int number) { add(static_cast<std::uint64_t>(number)); }
  void add(std::string_view text) { add(std::uint64_t{std::hash<std::string_view>()(text)}); }
  std::uint64_t value() const { return value_; }

 private:
  std::unordered_map<const Storage*, std::size_t> storages_;
  std::uint64_t value_ = 14695981039346656037u;
};

}  // namespace

StepGraph make_step_graph(Context& context, const BackwardGraph& graph) {
  return Maker(context, graph).make();
}

std::uint64_t structure_of(const BackwardGraph& graph) {
  Hash hash;
  for (const BackwardStep& step : graph.steps()) {
    hash.add(step.op->name());
    hash.add(step.layer);
    for (const BackwardInput& input : step.inputs) {
      hash.add(input.gradient);
      hash.add(input.retained);
    }
    for (const int output : step.outputs) {
      hash.add(output);
      hash.add(graph.gradients()[index(output)].destination);
    }
  }
  return hash.value();
}

}  // namespace skyline
