#include "train/budget/device_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "framework/context.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/math/add.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"

namespace skyline {
namespace {

constexpr std::int64_t kMatrix = 1024, kVector = 1 << 24;
constexpr int kRepeats = 3;

double best_seconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= kRepeats; ++k) {
    const auto started = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
    if (k > 0) best = std::min(best, elapsed.count());  // the first run makes the kernel
  }
  return best;
}

// Products that share one weight: one for each pixel of an image, or row of a matrix.
double positions(const Shape& shape) {
  const auto elements = static_cast<double>(shape.elements());
  return shape.rank() < 2 ? 0 : elements / static_cast<double>(shape[1]);
}

// Returns the nearest power of four.
double rounded(double ratio) { return std::exp2(2 * std::round(std::log2(ratio) / 2)); }

class OpModel {
 public:
  OpModel(const RecordedStep& step, const DeviceSpeed& speed)
      : step_(step),
        byte_seconds_(1 / speed.bytes_per_second),
        product_seconds_(byte_seconds_ / rounded(speed.flops / speed.bytes_per_second)) {}

  double seconds(const StepOp& op) const {
    double bytes = 0;
    for (const ValueId input : op.inputs) bytes += bytes_of(input);
    for (const ValueId output : op.outputs) bytes += bytes_of(output);
    return is_view(op) ? 0 : bytes * byte_seconds_ + 2 * products(op) * product_seconds_;
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
    ValueId result = op.outputs.front();
    double weights = 0;
    const auto add = [&](ValueId id, Category category) {
      if (value(id).category == category && shape(id).rank() >= 2) {
        weights += static_cast<double>(shape(id).elements());
      }
    };
    for (const ValueId input : op.inputs) {
      if (op.phase == Phase::kBackward && !value(input).resident) result = input;
      add(input, Category::kParameter);
    }
    for (const ValueId output : op.outputs) add(output, Category::kParameterGradient);
    return weights * positions(shape(result));
  }

  const RecordedStep& step_;
  double byte_seconds_, product_seconds_;
};

}  // namespace

std::string DeviceSpeed::text() const {
  return fmt::format("{}: {:.0f} GFLOP/s, {:.1f} GB/s", source, flops / 1e9,
                     bytes_per_second / 1e9);
}

DeviceSpeed measured_speed() {
  CpuDevice device;
  BestFitPool pool(device);
  Context context(pool, {.mode = Mode::kInference});
  const auto tensor = [&](const Shape& shape) {
    return context.resident({shape}, Category::kActivation, "speed");
  };
  const Tensor x = tensor({kMatrix, kMatrix}), weight = tensor({kMatrix, kMatrix});
  const Tensor vector = tensor({1, kVector});
  const double product = best_seconds([&] { linear(context, x, weight, {}); });
  const double sum = best_seconds([&] { add(context, vector, vector); });
  return {.flops = 2.0 * kMatrix * kMatrix * kMatrix / product,
          .bytes_per_second = 3.0 * kVector * sizeof(float) / sum,
          .source = "measured"};
}

DeviceSpeed assumed_card_speed() {
  return {.flops = 51e12, .bytes_per_second = 2e12, .source = "assumed"};
}

std::vector<double> foreseen_seconds(const RecordedStep& step, const DeviceSpeed& speed) {
  const OpModel model(step, speed);
  std::vector<double> seconds;
  for (const StepOp& op : step.graph.ops) seconds.push_back(model.seconds(op));
  return seconds;
}

}  // namespace skyline
