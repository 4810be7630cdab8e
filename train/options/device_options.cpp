#include "train/options/device_options.h"

#include <CLI/App.hpp>
#include <fstream>
#include <sstream>

#include "train/cli/option_types.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCuda = "cuda", kManaged = "cuda-managed";

EngineChoices read_plan(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw UsageError("--plan: cannot read '" + path + "'");
  try {
    return EngineChoices::from_json(text.str(), path);
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--plan: ") + error.what());
  }
}

}  // namespace

void add_device_options(CLI::App& app, DeviceOptions& options) {
  app.add_flag("--tf32", options.tf32,
               "On a CUDA device: round the operands of products to 10 bits, for its fast units");
  app.add_flag("--deterministic", options.deterministic,
               "On a CUDA device: the same bits in every run, at some speed");
  app.add_flag("--prefetch", options.prefetch,
               "On a CUDA device: copy the next batch there while a step runs, into memory of its "
               "own");
  app.add_flag("--managed", options.managed,
               "On a CUDA device: managed memory, never more than the card has free");
  add_bytes(
      app, "--workspace", options.workspace_bytes,
      "On a CUDA device the most that a convolution may ask for, in a dry run of the CPU what "
      "each asks for; otherwise what it needs");
  app.add_option("--plan", options.plan,
                 "Of a CUDA device: take the engines of convolutions from the engines.json of an "
                 "earlier run")
      ->type_name("FILE");
}

void resolve(DeviceOptions& options, std::string& device) {
  if (!device.starts_with(kCuda) &&
      (options.managed || options.prefetch || options.tf32 || !options.plan.empty())) {
    throw UsageError(
        "--managed, --prefetch, --tf32 and --plan are a CUDA device's: give --device cuda");
  }
  if (options.managed) device = kManaged;
  if (options.plan.empty()) return;
  make_absolute(options.plan);
  *options.engines = read_plan(options.plan);
}

void write_device_options(const DeviceOptions& options, Json& json) {
  json["tf32"] = options.tf32;
  json["deterministic"] = options.deterministic;
  json["prefetch"] = options.prefetch;
  json["managed"] = options.managed;
  json["workspace"] = options.workspace_bytes ? Json(*options.workspace_bytes) : Json(nullptr);
  json["plan"] = options.plan;
}

DeviceOptions read_device_options(const Json& json) {
  DeviceOptions options;
  options.tf32 = json.value("tf32", false);
  options.deterministic = json.value("deterministic", false);
  options.prefetch = json.value("prefetch", false);
  options.managed = json.value("managed", false);
  if (json.contains("workspace") && !json["workspace"].is_null()) {
    options.workspace_bytes = json["workspace"].get<std::uint64_t>();
  }
  options.plan = json.value("plan", std::string());
  return options;
}

std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      bool plan_only) {
  if (!device.starts_with(kCuda)) return nullptr;
  if (plan_only && options.engines->card.empty()) {
    throw UsageError(
        "--device cuda without a device wants --plan: the engines.json of a run on the card");
  }
  return make_cuda_compute({.tf32 = options.tf32,
                            .deterministic = options.deterministic,
                            .workspace_bytes = options.workspace_bytes,
                            .engines = options.engines.get(),
                            .plan_only = plan_only});
}

}  // namespace skyline
