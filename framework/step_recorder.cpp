#include "framework/step_recorder.h"

#include <utility>

namespace skyline {

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

void StepRecorder::add_remake(RecordedRemake remake) { step_.remakes.push_back(std::move(remake)); }

void StepRecorder::rename(const Tensor& tensor, std::string name) {
  step_.values[value_of(tensor)].name = std::move(name);
}

}  // namespace skyline
