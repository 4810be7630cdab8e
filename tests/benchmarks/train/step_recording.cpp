#include "tests/benchmarks/train/step_recording.h"

#include <set>
#include <utility>

namespace skyline {
namespace {

class Recorder final : public OpObserver {
 public:
  void executing(std::span<const Tensor> inputs) override {
    for (const Tensor& input : inputs) {
      const Storage& storage = *input.storage();
      const std::byte* address = storage.address();
      const bool given = storage.resident || storage.category == Category::kInput;
      if (!given || written_.contains(address) || recording_.given.contains(address)) continue;
      recording_.given[address] = {address, address + input.spec().bytes()};
    }
  }
  void executed(ExecutedOp op) override {
    for (const Operand& output : op.outputs) {
      if (is_given(output)) written_.insert(output.address);
    }
    recording_.ops.push_back(std::move(op));
  }
  StepRecording take() { return std::move(recording_); }

 private:
  StepRecording recording_;
  std::set<const std::byte*> written_;
};

}  // namespace

bool is_given(const Operand& operand) {
  return operand.resident || operand.category == Category::kInput;
}

StepRecording record_step(TimedTraining& training, const Batch& batch) {
  Recorder recorder;
  training.step(batch);
  return recorder.take();
}

}  // namespace skyline
