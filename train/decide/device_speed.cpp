#include "train/decide/device_speed.h"

#include <fmt/format.h>

#include "framework/ops/normalization/batch_norm.h"

namespace skyline {
namespace {

// Products that share one weight: one for each pixel of an image, or row of a matrix.
double positions(const Shape& shape) {
  const auto elements = static_cast<double>(shape.elements());
  return shape.rank() < 2 ? 0 : elements / static_cast<double>(shape[1]);
}

class OpModel {
 public:
  OpModel(const RecordedStep& step, const DeviceSpeed& speed) : step_(step), speed_(speed) {}

  double seconds(const StepOp& op) const {
    double bytes = 0;
    for (const ValueId input : op.inputs) bytes += bytes_of(input);
    for (const ValueId output : op.outputs) bytes += bytes_of(output);
    if (is_view(op)) return 0;
    if (op.name == kBatchNorm) bytes += bytes_of(op.inputs.front());  // for its sums
    return bytes / speed_.bytes_per_second + 2 * products(op) / speed_.flops;
  }

 private:
  const StepValue& value(ValueId id) const { return step_.graph.values[id]; }
  const Shape& shape(ValueId id) const { return step_.values[id].spec.shape; }
  double bytes_of(ValueId id) const { return static_cast<double>(value(value(id).storage).bytes); }
  bool is_view(const StepOp& op) const {
    return op.outputs.size() == 1 && value(op.outputs[0]).storage != op.outputs[0];
  }

  double products(const StepOp& op) const {
    if (op.phase == Phase::kUpdate || op.name.starts_with("embedding") || op.outputs.empty()) {
      return 0;
    }
    // Backward also makes values of forward again.
    const bool is_gradient = op.name.find("_grad") != std::string::npos;
    ValueId result = op.outputs.front();
    double weights = 0;
    const auto add = [&](ValueId id, Category category) {
      if (value(id).category == category && shape(id).rank() >= 2) {
        weights += static_cast<double>(shape(id).elements());
      }
    };
    for (const ValueId input : op.inputs) {
      if (is_gradient && !value(input).resident) result = input;
      add(input, Category::kParameter);
    }
    for (const ValueId output : op.outputs) add(output, Category::kParameterGradient);
    return weights * positions(shape(result));
  }

  const RecordedStep& step_;
  const DeviceSpeed& speed_;
};

}  // namespace

std::string DeviceSpeed::text() const {
  return fmt::format("by a model: {:.0f} GFLOP/s, {:.0f} GB/s", flops / 1e9,
                     bytes_per_second / 1e9);
}

DeviceSpeed assumed_speed(const std::string& device) {
  if (device == "cuda") return {.flops = 51e12, .bytes_per_second = 2e12};
  return {.flops = 150e9, .bytes_per_second = 10e9};
}

double extra_share(const EngineUse& use) { return use.engine == "winograd" ? 0.5 : 0.1; }

std::vector<double> foreseen_seconds(const RecordedStep& step, const DeviceSpeed& speed) {
  const OpModel model(step, speed);
  std::vector<double> seconds;
  for (const StepOp& op : step.graph.ops) seconds.push_back(model.seconds(op));
  return seconds;
}

}  // namespace skyline
