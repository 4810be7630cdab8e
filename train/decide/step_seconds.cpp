#include "train/decide/step_seconds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "framework/ops/attention/attention.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/normalization/batch_norm.h"
#include "framework/ops/ranks/rank_sum_ops.h"
#include "memory/formats/json_reader.h"
#include "memory/formats/sink.h"
#include "memory/tag.h"
#include "train/cli/usage_error.h"

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
    if (moves_nothing(op)) return 0;
    return bytes(op) / speed_.bytes_per_second + 2 * products(op) / speed_.flops;
  }
  double bytes(const StepOp& op) const {
    if (moves_nothing(op)) return 0;
    double bytes = bytes_again(op);
    for (const ValueId input : op.inputs) bytes += bytes_of(input);
    for (const ValueId output : op.outputs) bytes += bytes_of(output);
    if (op.name == kLinearCrossEntropy) bytes += logits_bytes(op);
    return bytes;
  }

 private:
  const StepValue& value(ValueId id) const { return step_.graph.values[id]; }
  const Shape& shape(ValueId id) const { return step_.values[id].spec.shape; }
  double bytes_of(ValueId id) const { return static_cast<double>(value(value(id).storage).bytes); }
  // Gradients are mostly scaled by 1.
  bool moves_nothing(const StepOp& op) const { return is_view(op) || op.name == kScaleGradients; }
  // Batch normalization reads its images once more, for sums, and so a shortcut that it normalizes.
  // The gradient of both writes the masked sum, and reads it, the images and the shortcut again.
  double bytes_again(const StepOp& op) const {
    const bool with_shortcut = normalizes_shortcut(step_.graph, op);
    const int passes = op.name == kBatchNorm ? (with_shortcut ? 2 : 1) : with_shortcut ? 4 : 0;
    return passes == 0 ? 0 : passes * bytes_of(op.inputs.front());
  }
  bool is_view(const StepOp& op) const {
    return op.outputs.size() == 1 && value(op.outputs[0]).storage != op.outputs[0];
  }

  // The logits' softmax goes twice over them, and so does its gradient; each product once.
  double logits_bytes(const StepOp& op) const {
    const double logits = positions(shape(op.inputs[0])) * positions(shape(op.inputs[1]));
    return static_cast<double>(op.outputs.size() == 1 ? 3 : 7) * logits * sizeof(float);
  }

  // Micro-batches and fused updates make gradients of parameters like those of values.
  bool is_of_weight(const StepOp& op, ValueId output) const {
    return value(output).category == Category::kParameterGradient ||
           op.name.ends_with("_grad_weight") ||
           (!op.name.ends_with("_grad_input") && std::ranges::any_of(op.inputs, [&](ValueId input) {
             return value(input).category == Category::kParameter && shape(input) == shape(output);
           }));
  }

  double products(const StepOp& op) const {
    if (op.phase == Phase::kUpdate || op.name.starts_with("embedding") || op.outputs.empty()) {
      return 0;
    }
    if (op.name == kLinearCrossEntropy) {  // one product for the logits and one for each gradient
      const auto gradients = std::ranges::count_if(
          op.outputs, [&](ValueId output) { return shape(output).rank() == 2; });
      return static_cast<double>(1 + gradients) * positions(shape(op.inputs[0])) *
             static_cast<double>(shape(op.inputs[1]).elements());
    }
    // Two products of each pair of words, in backward five.
    const bool forward = op.name == kAttention;
    if (forward || op.name == kAttentionGrad) {
      const Shape& logarithms = shape(forward ? op.outputs[1] : op.inputs[2]);
      const double pairs = static_cast<double>(logarithms[1] + 1) / 2;
      return (forward ? 2 : 5) * pairs * static_cast<double>(shape(op.inputs[0]).elements()) / 3;
    }
    // Backward also recomputes values of forward.
    const bool is_gradient = op.name.find("_grad") != std::string::npos;
    ValueId result = op.outputs.front();
    double weights = 0;
    const auto add = [&](ValueId id) {
      if (shape(id).rank() >= 2) weights += static_cast<double>(shape(id).elements());
    };
    for (const ValueId input : op.inputs) {
      if (is_gradient && !value(input).resident) result = input;
      if (value(input).category == Category::kParameter) add(input);
    }
    for (const ValueId output : op.outputs) {
      if (is_gradient && is_of_weight(op, output)) add(output);
    }
    return weights * positions(shape(result));
  }

  const RecordedStep& step_;
  const DeviceSpeed& speed_;
};

using Json = nlohmann::ordered_json;

std::string op_text(Phase phase, const std::string& name, const std::string& layer) {
  return fmt::format("{} in {}", op_of_layer(name, layer), phase_name(phase));
}

// True if the context runs a kernel for the op whose seconds are its own: sums over ranks take
// those of the link.
bool runs_kernel(const StepGraph& graph, const StepOp& op) {
  if (op.name == "upload" || op.name == "download") return false;
  if (is_rank_op(op.name)) return false;
  const bool is_view =
      op.outputs.size() == 1 && graph.values[op.outputs[0]].storage != op.outputs[0];
  return !is_view;
}

Json parsed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("--profile: cannot read '{}'", path.string()));
  try {
    return read_ordered_json(text_to_end(file, {}, std::numeric_limits<std::size_t>::max()));
  } catch (const JsonError& error) {
    throw UsageError(fmt::format("--profile: '{}' {}", path.string(), error.what()));
  }
}

ProfileKey key_from(const Json& json) {
  return {.model = json.at("model"),
          .device = json.at("device"),
          .batch_size = json.at("batch_size"),
          .threads = json.at("threads")};
}

double checked_seconds(const Json& json) {
  const double seconds = json.get<double>();
  if (std::isfinite(seconds) && seconds >= 0) return seconds;
  throw UsageError(fmt::format("{} seconds are no time", seconds));
}

bool is_sum(const StepOp& op) { return op.phase == Phase::kBackward && op.name == Sum::kName; }

double values_used(const StepOp& op) {
  return static_cast<double>(op.inputs.size() + op.outputs.size());
}

}  // namespace

std::string DeviceSpeed::text() const {
  return fmt::format("by a model: {:.0f} GFLOP/s, {:.0f} GB/s", flops / 1e9,
                     bytes_per_second / 1e9);
}

DeviceSpeed assumed_speed(const std::string& device) {
  if (device == "cuda") return {.flops = 51e12, .bytes_per_second = 2e12};
  return {.flops = 150e9, .bytes_per_second = 10e9};
}

double extra_share(const EngineUse& use) { return use.engine == "winograd" ? 1.0 : 0.1; }

std::vector<double> foreseen_seconds(const RecordedStep& step, const DeviceSpeed& speed) {
  const OpModel model(step, speed);
  std::vector<double> seconds;
  for (const StepOp& op : step.graph.ops) seconds.push_back(model.seconds(op));
  return seconds;
}

std::uint64_t moved_bytes(const RecordedStep& step) {
  const OpModel model(step, {});
  double bytes = 0;
  for (const StepOp& op : step.graph.ops) {
    bytes += model.bytes(op);
    if (op.name != kBatchNormGrad && op.name != kBatchNormGradOfSum) continue;
    const ValueId x = step.graph.values[op.inputs.front()].storage;
    const bool counted = normalizes_shortcut(step.graph, op);
    bytes += counted ? 0 : 2 * static_cast<double>(step.graph.values[x].bytes);
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string ProfileKey::text() const {
  return fmt::format("{} on {}, batch {}, {} threads", model, device, batch_size, threads);
}

void StepProfile::add(const std::vector<OpTime>& times) {
  ++steps_;
  std::map<Op, std::size_t> turns;
  for (const OpTime& time : times) {
    const Op op = {time.phase, time.name, time.layer};
    std::vector<double>& seconds = seconds_[op];
    const std::size_t turn = turns[op]++;
    if (turn == seconds.size()) seconds.push_back(std::numeric_limits<double>::infinity());
    seconds[turn] = std::min(seconds[turn], time.seconds);
  }
}

// A chain in rounds may have run as its ops.
std::vector<double> StepProfile::seconds(const RecordedStep& step) const {
  const auto seconds_of = [&](const Op& op, std::size_t turn) {
    const auto found = seconds_.find(op);
    if (found != seconds_.end() && turn < found->second.size()) return found->second[turn];
    const auto& [phase, name, layer] = op;
    throw UsageError(fmt::format("the profile lacks {}", op_text(phase, name, layer)));
  };
  std::vector<double> result;
  std::map<Op, std::size_t> turns;
  for (const StepOp& op : step.graph.ops) {
    double& seconds = result.emplace_back(0);
    if (!runs_kernel(step.graph, op)) continue;
    const Op key = {op.phase, op.name, op.layer};
    if (!op.rounds || seconds_.contains(key)) {
      seconds = seconds_of(key, turns[key]++);
      continue;
    }
    for (const OpRounds::Call& call : op.rounds->calls) {
      const Op forward = {Phase::kForward, call.name, call.layer};
      seconds +=
          seconds_of(seconds_.contains(forward) ? forward : Op(op.phase, call.name, call.layer), 0);
    }
  }
  return result;
}

Json StepProfile::json() const {
  Json ops = Json::array();
  for (const auto& [op, seconds] : seconds_) {
    const auto& [phase, name, layer] = op;
    ops.push_back(
        {{"phase", phase_name(phase)}, {"op", name}, {"layer", layer}, {"seconds", seconds}});
  }
  return {{"model", key_.model},     {"device", key_.device}, {"batch_size", key_.batch_size},
          {"threads", key_.threads}, {"steps", steps_},       {"ops", ops}};
}

StepProfile StepProfile::read(const std::filesystem::path& path, const ProfileKey& key) {
  const bool is_folder = std::filesystem::is_directory(path);
  const std::filesystem::path file = is_folder ? path / kProfileFile : path;
  const Json json = parsed(file);
  try {
    const ProfileKey measured = key_from(json);
    if (measured != key) {
      throw UsageError(
          fmt::format("it was measured for {}, not for {}", measured.text(), key.text()));
    }
    StepProfile profile(key);
    profile.steps_ = json.at("steps");
    for (const Json& op : json.at("ops")) {
      std::vector<double>& seconds = profile.seconds_[{
          phase_called(op.at("phase").get<std::string>()), op.at("op"), op.at("layer")}];
      for (const Json& each : op.at("seconds")) seconds.push_back(checked_seconds(each));
    }
    return profile;
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("--profile: '{}' is damaged: {}", file.string(), error.what()));
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("--profile: '{}' does not serve: {}", file.string(), error.what()));
  }
}

void StepProfiler::begin_step(Context& context, std::int64_t done) {
  constexpr int kProfiledSteps = 3;
  times_ops_ = profile_.steps() < kProfiledSteps && done < kProfiledSteps;
  is_last_ = profile_.steps() + 1 == kProfiledSteps;
  times_.clear();
  context.watch().op_times = times_ops_ ? &times_ : nullptr;
}

std::optional<Json> StepProfiler::end_step() {
  if (!times_ops_) return {};
  profile_.add(times_);
  return is_last_ ? std::optional(profile_.json()) : std::nullopt;
}

StepSeconds step_seconds(const std::string& profile, const ProfileKey& key) {
  const DeviceSpeed speed = assumed_speed(key.device);
  const auto model = [speed](const RecordedStep& step) { return foreseen_seconds(step, speed); };
  if (profile.empty()) return {model, speed.text(), model};
  const StepProfile measured = StepProfile::read(profile, key);
  return {[measured](const RecordedStep& step) { return measured.seconds(step); },
          "by the profile of " + profile, model};
}

std::vector<double> saving_seconds(const RecordedStep& saving, const RecordedStep& whole,
                                   const std::vector<double>& whole_seconds) {
  using Name = std::tuple<Phase, std::string, std::string>;  // and layer
  struct Sums {
    double seconds = 0, values = 0;
  };
  std::map<std::string, Sums> sums;  // by layer
  std::map<Name, std::vector<double>> others;
  for (std::size_t k = 0; k < whole.graph.ops.size(); ++k) {
    const StepOp& op = whole.graph.ops[k];
    if (op.name == kBatchNormGradOfSum) {
      // Makes 8 passes over memory, or 11 with a projection; apart, 3 and 7, or 10.
      const double passes = normalizes_shortcut(whole.graph, op) ? 11 : 8;
      others[{op.phase, op.name, op.layer}].push_back(whole_seconds[k]);
      others[{op.phase, std::string(kBatchNormGrad), op.layer}].push_back((passes - 1) / passes *
                                                                          whole_seconds[k]);
      sums[op.layer] = {3 / passes * whole_seconds[k], 3};
    } else if (is_sum(op)) {
      sums[op.layer].seconds += whole_seconds[k];
      sums[op.layer].values += values_used(op);
    } else {
      others[{op.phase, op.name, op.layer}].push_back(whole_seconds[k]);
    }
  }
  const auto seconds_of = [&](const Name& op, std::size_t turn) {
    const auto& [phase, name, layer] = op;
    const auto found = others.find(op);
    if (found != others.end() && turn < found->second.size()) return found->second[turn];
    throw std::logic_error("savings add an op: " + op_text(phase, name, layer));
  };
  std::vector<double> seconds;
  std::map<Name, std::size_t> turns;
  for (const StepOp& op : saving.graph.ops) {
    if (is_sum(op)) {
      const Sums& late = sums.at(op.layer);
      seconds.push_back(late.seconds / late.values * values_used(op));
    } else if (!op.rounds) {
      const Name name = {op.phase, op.name, op.layer};
      seconds.push_back(seconds_of(name, turns[name]++));
    } else {
      double& of_chain = seconds.emplace_back(0);
      for (const OpRounds::Call& call : op.rounds->calls) {
        const Name forward = {Phase::kForward, call.name, call.layer};
        of_chain += seconds_of(
            others.contains(forward) ? forward : Name(op.phase, call.name, call.layer), 0);
      }
    }
  }
  return seconds;
}

}  // namespace skyline
