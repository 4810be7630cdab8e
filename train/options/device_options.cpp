#include "train/options/device_options.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "train/cli/option_list.h"

namespace skyline {
namespace {

constexpr std::string_view kCuda = "cuda", kDirect = "direct", kMeasured = "measured",
                           kFitting = "fitting";

bool is_rule(const std::string& engines) {
  return engines == kDirect || engines == kMeasured || engines == kFitting;
}

EngineChoices parsed_engines(const std::string& text, const std::string& path) {
  try {
    return EngineChoices::from_json(text, path);
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--engines: ") + error.what());
  }
}

EngineChoices read_engines(const std::string& path, const std::string& device) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw UsageError(
        "--engines: cannot read '" + path + "', expected " +
        (device == kCuda ? "measured or a file" : "direct, measured, fitting or a file"));
  }
  EngineChoices choices = parsed_engines(text.str(), path);
  if (choices.card.empty() == (device != kCuda)) return choices;
  throw UsageError("--engines: '" + path + "' has choices for " + choices.card_name() +
                   ", expected some for --device " + device);
}

CpuOptions::Engines engines_of(const DeviceOptions& options) {
  if (options.engines_file == kDirect) return CpuOptions::Engines::kDirect;
  if (options.engines_file == kMeasured) return CpuOptions::Engines::kMeasured;
  return CpuOptions::Engines::kByShape;
}

// The CPU with the choices that it uses.
struct CpuWithChoices {
  explicit CpuWithChoices(const DeviceOptions& options)
      : choices(options.engines),
        compute({.engines = engines_of(options),
                 .choices = choices.get(),
                 .lanes = static_cast<std::size_t>(std::max<std::int64_t>(options.lanes, 1))}) {}
  std::shared_ptr<EngineChoices> choices;
  CpuCompute compute;
};

}  // namespace

void add_lanes_option(OptionList& list, DeviceOptions& options) {
  OptionValue value = integer(options.lanes, 1, kMostThreads);
  value.type = "N|auto";
  value.parse = [&lanes = options.lanes, number = std::move(value.parse)](const std::string& text) {
    if (text == "auto") {
      lanes = 0;
    } else {
      number(text);
    }
  };
  list.add("--lanes", std::move(value),
           "CPU: ops that run at the same time, each on --threads threads; auto: as many as the "
           "fastest of some trial steps",
           kNeutral | kMayBeAbsent);
}

bool fits_engines(const DeviceOptions& options) { return options.engines_file == kFitting; }

void add_device_option(OptionList& list, std::string& device, const std::string& help) {
  list.add("--device", choice(device, {"cpu", "cuda"}, "device"), help);
}

void add_device_options(OptionList& list, DeviceOptions& options) {
  list.add("--tf32", flag(options.tf32),
           "CUDA: round operands of matrix products to 10 bits, for the tensor cores",
           kMayBeAbsent);
  list.add("--deterministic", flag(options.deterministic),
           "CUDA: the same bits in every run, at some cost in speed", kMayBeAbsent);
  list.add("--prefetch", flag(options.prefetch),
           "CUDA: copy the next batch to the device during a step, into memory of its own",
           kImagesOnly | kMayBeAbsent);
  list.add("--graph", flag(options.graph),
           "CUDA: capture the ops of a step once and launch them together from then on",
           kMayBeAbsent);
  list.add("--workspace", bytes(options.workspace_bytes),
           "CUDA: workspace limit of each convolution. Dry run of the CPU: workspace that each "
           "convolution requests (default: what it needs)",
           kMayBeAbsent);
  list.add(
      "--engines", text(options.engines_file, "direct|measured|fitting|FILE"),
      "How convolutions are computed: as in an earlier run (its engines.json); by the fastest of "
      "each, timed as the run begins; on the CPU also by direct kernels only, or by shape, but by "
      "direct kernels where others do not fit --memory (default: by shape, where that raises no "
      "peak; CUDA: cuDNN's choice)",
      kMayBeAbsent);
}

DeviceOptions resolved(DeviceOptions options, const std::string& device) {
  if (device != kCuda &&
      (options.prefetch || options.tf32 || options.deterministic || options.graph)) {
    throw UsageError("--prefetch, --tf32, --deterministic and --graph need --device cuda");
  }
  if (device == kCuda && options.lanes != 1) {
    throw UsageError(fmt::format("--lanes {} needs --device cpu: CUDA runs its ops on one lane",
                                 options.lanes == 0 ? "auto" : std::to_string(options.lanes)));
  }
  if (options.lanes > omp_get_num_procs()) {
    throw UsageError(fmt::format("--lanes {} is more than the {} cores of this machine",
                                 options.lanes, omp_get_num_procs()));
  }
  const bool rule = is_rule(options.engines_file);
  if (rule && device == kCuda && options.engines_file != kMeasured) {
    throw UsageError("--engines " + options.engines_file + " needs --device cpu");
  }
  if (!rule && !options.engines_file.empty()) make_absolute(options.engines_file);
  const std::string given = rule ? std::string() : options.engines_file;
  const bool planned = fits_engines(options);  // anew, as before
  const std::string& file =
      options.run_engines_file.empty() || planned ? given : options.run_engines_file;
  if (!file.empty()) options.engines = std::make_shared<EngineChoices>(read_engines(file, device));
  return options;
}

std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      bool plan_only) {
  const bool measured = options.engines_file == kMeasured;
  if (plan_only && measured) {
    throw UsageError(
        "--engines measured runs convolutions, a dry run does not: give it the engines.json of a "
        "run");
  }
  if (device != kCuda) {
    const auto cpu = std::make_shared<CpuWithChoices>(options);
    return {cpu, &cpu->compute};
  }
  if (plan_only && options.engines->card.empty()) {
    throw UsageError(
        "--device cuda in a dry run needs --engines: the engines.json of a run on the card");
  }
  return make_cuda_compute({.tf32 = options.tf32,
                            .deterministic = options.deterministic,
                            .workspace_bytes = options.workspace_bytes,
                            .measured = measured,
                            .engines = options.engines.get(),
                            .plan_only = plan_only,
                            .graph = options.graph,
                            .ranks = options.ranks});
}

}  // namespace skyline
