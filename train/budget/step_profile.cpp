#include "train/budget/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "framework/ops/ranks/rank_sum_ops.h"
#include "memory/formats/json_reader.h"
#include "memory/formats/sink.h"
#include "memory/tag.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

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

}  // namespace

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

std::vector<double> StepProfile::seconds(const RecordedStep& step) const {
  std::vector<double> result;
  std::map<Op, std::size_t> turns;
  for (const StepOp& op : step.graph.ops) {
    if (!runs_kernel(step.graph, op)) {
      result.push_back(0);
      continue;
    }
    const Op key = {op.phase, op.name, op.layer};
    const auto found = seconds_.find(key);
    const std::size_t turn = turns[key]++;
    if (found == seconds_.end() || turn >= found->second.size()) {
      throw UsageError(fmt::format("the profile lacks {}", op_text(op.phase, op.name, op.layer)));
    }
    result.push_back(found->second[turn]);
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

}  // namespace skyline
