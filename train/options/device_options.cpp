#include "train/options/device_options.h"

#include <fmt/format.h>
#include <omp.h>

#include "train/cli/option_list.h"

namespace skyline {
namespace {

constexpr const char* kCudaOnly =
    "--no-prefetch, --tf32, --deterministic and --graph need --device cuda";

}  // namespace

bool is_engine_rule(std::string_view engines_file) {
  return engines_file == kDirectEngines || engines_file == kMeasuredEngines ||
         engines_file == kFittingEngines;
}

void add_core_options(OptionList& list, std::int64_t& threads, DeviceOptions& options) {
  list.add("--threads", integer(threads, 0, kMostThreads),
           "Threads of an op (0: automatic, 1 for small models, else all cores, shared by the "
           "lanes)");
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
           kNeutral | kMayBeAbsent)
      // Each process would measure other seconds, and plan another step.
      .excludes("--ranks", "--ranks and --lanes exclude each other: give one of them");
}

bool fits_engines(const DeviceOptions& options) { return options.engines_file == kFittingEngines; }

void add_device_option(OptionList& list, std::string& device, const std::string& help) {
  list.add("--device", choice(device, {"cpu", "cuda"}, "device"), help);
}

void add_device_options(OptionList& list, DeviceOptions& options) {
  list.add("--tf32", flag(options.tf32),
           "CUDA: round operands of matrix products to 10 bits, for the tensor cores", kMayBeAbsent)
      .needs({"--device cuda"}, kCudaOnly);
  list.add("--deterministic", flag(options.deterministic),
           "CUDA: the same bits in every run, at some cost in speed", kMayBeAbsent)
      .needs({"--device cuda"}, kCudaOnly);
  list.add("--no-prefetch", negated_flag(options.prefetch),
           "CUDA: copy each batch when its step begins (default: during the step before, into "
           "memory of its own, where the device has room for one more batch, without --memory)",
           kImagesOnly | kNeutral | kMayBeAbsent)
      .needs({"--device cuda"}, kCudaOnly);
  list.add("--graph", flag(options.graph),
           "CUDA: capture the ops of a step once and launch them together from then on",
           kMayBeAbsent)
      .needs({"--device cuda"}, kCudaOnly);
  list.add(
      "--workspace", bytes(options.workspace_bytes),
      "CUDA: workspace limit of each convolution and dense layer. Dry run of the CPU: workspace "
      "that each convolution requests (default: what it needs)",
      kMayBeAbsent);
  list.add("--engines", text(options.engines_file, "direct|measured|fitting|FILE"),
           "How convolutions are computed: as in an earlier run (its engines.json); by the fastest "
           "of each, timed as the run begins; on the CPU also by direct kernels only, or by shape, "
           "but by direct kernels where others do not fit --memory (default: by shape, where that "
           "raises no peak; CUDA: cuDNN's choice)",
           kMayBeAbsent)
      .needs({"--device cpu"}, {}, std::string(kDirectEngines))
      .needs({"--device cpu"}, {}, std::string(kFittingEngines))
      .needs({"--memory", "--budgets", "--slowdown"}, {}, std::string(kFittingEngines))
      .excludes("--workspace", "--engines fitting chooses workspaces: leave out --workspace",
                std::string(kFittingEngines));
}

DeviceOptions resolved(DeviceOptions options, const std::string& device) {
  if (device == "cuda" && options.lanes != 1) {
    throw UsageError(fmt::format("--lanes {} needs --device cpu: CUDA runs its ops on one lane",
                                 options.lanes == 0 ? "auto" : std::to_string(options.lanes)));
  }
  if (options.lanes > omp_get_num_procs()) {
    throw UsageError(fmt::format("--lanes {} is more than the {} cores of this machine",
                                 options.lanes, omp_get_num_procs()));
  }
  if (!is_engine_rule(options.engines_file)) make_absolute(options.engines_file);
  return options;
}

}  // namespace skyline
