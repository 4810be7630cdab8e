#include "train/options/device_options.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "train/cli/option_list.h"

namespace skyline {
namespace {

constexpr std::string_view kCuda = "cuda";

EngineChoices read_engines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw UsageError("--engines: cannot read '" + path + "'");
  try {
    return EngineChoices::from_json(text.str(), path);
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--engines: ") + error.what());
  }
}

}  // namespace

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
  list.add("--workspace", bytes(options.workspace_bytes),
           "CUDA: workspace limit of each convolution. Dry run of the CPU: workspace that each "
           "convolution requests (default: what it needs)",
           kMayBeAbsent);
  list.add("--engines", text(options.engines_file, "FILE"),
           "CUDA: reuse cuDNN engine choices (engines.json of an earlier run)", kMayBeAbsent);
}

DeviceOptions resolved(DeviceOptions options, const std::string& device) {
  if (device != kCuda && (options.prefetch || options.tf32 || options.deterministic ||
                          !options.engines_file.empty())) {
    throw UsageError("--prefetch, --tf32, --deterministic and --engines need --device cuda");
  }
  if (options.engines_file.empty()) return options;
  make_absolute(options.engines_file);
  options.engines = std::make_shared<EngineChoices>(read_engines(options.engines_file));
  return options;
}

std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      bool plan_only) {
  if (device != kCuda) return nullptr;
  if (plan_only && options.engines->card.empty()) {
    throw UsageError(
        "--device cuda in a dry run needs --engines: the engines.json of a run on the card");
  }
  return make_cuda_compute({.tf32 = options.tf32,
                            .deterministic = options.deterministic,
                            .workspace_bytes = options.workspace_bytes,
                            .engines = options.engines.get(),
                            .plan_only = plan_only});
}

}  // namespace skyline
