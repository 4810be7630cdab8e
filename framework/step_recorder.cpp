#include "framework/step_recorder.h"

#include <algorithm>
#include <utility>

namespace skyline {
namespace {

// Gives the values of a part of a step new numbers, in the sequence in which the part uses them.
class PartOfStep {
 public:
  explicit PartOfStep(const RecordedStep& whole) : whole_(whole) {}

  void renumber(std::vector<ValueId>& values) {
    for (ValueId& value : values) value = renumbered(value);
  }
  ValueId renumbered(ValueId value) {
    const auto known = numbers_.find(value);
    if (known != numbers_.end()) return known->second;
    StepValue copy = whole_.graph.values[value];
    const bool is_view = copy.storage != value;
    if (is_view) copy.storage = renumbered(copy.storage);
    const auto number = static_cast<ValueId>(part.graph.values.size());
    if (!is_view) copy.storage = number;
    part.graph.values.push_back(std::move(copy));
    part.values.push_back(whole_.values[value]);
    return numbers_[value] = number;
  }

  RecordedStep part;

 private:
  const RecordedStep& whole_;
  std::map<ValueId, ValueId> numbers_;
};

}  // namespace

RecordedStep last_batch(const RecordedStep& step) {
  if (step.batches.size() < 2) return step;
  const OpId first = step.batches.back();
  PartOfStep last(step);
  for (OpId number = first; number < step.graph.ops.size(); ++number) {
    StepOp op = step.graph.ops[number];
    last.renumber(op.inputs);
    last.renumber(op.outputs);
    last.part.graph.ops.push_back(std::move(op));
    last.part.memory.push_back(step.memory[number]);
  }
  for (RecordedRecomputation recomputation : step.recomputations) {
    if (recomputation.op < first) continue;
    recomputation.op -= first;
    recomputation.value = last.renumbered(recomputation.value);
    last.renumber(recomputation.inputs);
    last.part.recomputations.push_back(std::move(recomputation));
  }
  for (const auto& [op, engine] : step.engines) {
    if (op >= first) last.part.engines[op - first] = engine;
  }
  last.part.chains = step.chains;
  last.part.batches = {0};
  return std::move(last.part);
}

void StepRecorder::begin() {
  step_ = {};
  ++generation_;
}

ValueId StepRecorder::value_of(const Tensor& tensor) {
  Storage& storage = *tensor.storage();
  if (storage.generation != generation_) {
    storage.generation = generation_;
    storage.value = add_value({.bytes = storage.block.bytes(),
                               .category = storage.category,
                               .resident = true,
                               .layer = storage.layer},
                              {storage.layer, tensor.spec()});
  }
  return storage.value;
}

ValueId StepRecorder::add_value(StepValue value, ValueInfo info) {
  const auto id = static_cast<ValueId>(step_.graph.values.size());
  value.storage = id;
  step_.graph.values.push_back(std::move(value));
  step_.values.push_back(std::move(info));
  return id;
}

ValueId StepRecorder::add_view(ValueId owner, ValueInfo info) {
  const ValueId storage = step_.graph.values[owner].storage;
  const ValueId id = add_value(step_.graph.values[storage], std::move(info));
  step_.graph.values[id].storage = storage;
  return id;
}

ValueId StepRecorder::add_written(const Tensor& tensor, Category category, std::string layer,
                                  std::string name) {
  Storage& storage = *tensor.storage();
  storage.generation = generation_;
  storage.value =
      add_value({.bytes = tensor.spec().bytes(), .category = category, .layer = std::move(layer)},
                {std::move(name), tensor.spec()});
  return storage.value;
}

void StepRecorder::add_op(StepOp op, std::vector<OutputMemory> memory,
                          std::optional<EngineUse> engine) {
  if (engine) step_.engines[static_cast<OpId>(step_.graph.ops.size())] = *std::move(engine);
  step_.graph.ops.push_back(std::move(op));
  step_.memory.push_back(std::move(memory));
}

void StepRecorder::add_chain(std::string name) {
  if (std::ranges::find(step_.chains, name) == step_.chains.end()) {
    step_.chains.push_back(std::move(name));
  }
}

void StepRecorder::begin_batch() {
  step_.batches.push_back(static_cast<OpId>(step_.graph.ops.size()));
}

void StepRecorder::add_recomputation(RecordedRecomputation recomputation) {
  step_.recomputations.push_back(std::move(recomputation));
}

void StepRecorder::rename(const Tensor& tensor, std::string name) {
  step_.values[value_of(tensor)].name = std::move(name);
}

}  // namespace skyline
