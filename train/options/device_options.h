#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "framework/cuda/cudnn/engine_choices.h"
#include "framework/cuda/make_cuda_compute.h"

namespace CLI {
class App;
}  // namespace CLI

namespace skyline {

inline constexpr std::string_view kEnginesFile = "engines.json";

// How a CUDA device computes; the CPU needs none of it.
struct DeviceOptions {
  bool tf32 = false;
  bool deterministic = false;
  bool prefetch = false;  // a step's inputs arrive while the step before still runs
  bool managed = false;   // managed memory, never more than the card has free
  std::optional<std::uint64_t> workspace_bytes;  // the most that a convolution may ask for
  std::string plan;  // file of engine choices to start from; empty: none
  // Those of the whole run, so that every allocator is compared on the same ones: read from `plan`
  // when the options are resolved, completed while kernels are made.
  std::shared_ptr<EngineChoices> engines = std::make_shared<EngineChoices>();
};

// --tf32, --deterministic, --prefetch, --managed, --workspace, --plan.
void add_device_options(CLI::App& app, DeviceOptions& options);
// Reads the plan and names the device of managed memory. Throws UsageError for a file that is no
// plan, and for what is of no use on `device`.
void resolve(DeviceOptions& options, std::string& device);

void write_device_options(const DeviceOptions& options, nlohmann::ordered_json& json);
// Arguments stored before there were such options have none.
DeviceOptions read_device_options(const nlohmann::ordered_json& json);

// What computes on `device`; null: the CPU. With `plan_only` nothing is run and no device needed,
// but a plan that describes the card.
// Throws std::runtime_error naming the flag and the reason; UsageError where the plan is missing.
std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      bool plan_only = false);

}  // namespace skyline
