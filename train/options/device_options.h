#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/engines/engine_choices.h"

namespace skyline {

class OptionList;

inline constexpr std::string_view kEnginesFile = "engines.json";

// How a CUDA device computes. The CPU ignores all but engines and workspace_bytes of a dry run.
struct DeviceOptions {
  bool tf32 = false;
  bool deterministic = false;
  bool graph = false;     // launch ops that return unchanged as CUDA graphs
  bool prefetch = false;  // copy a step's inputs while the previous step runs
  std::optional<std::uint64_t> workspace_bytes;  // limit of each convolution
  std::int64_t lanes = 1;                        // of the CPU, see --lanes; 0: to be measured
  // A file of engine choices to start from; or "measured"; on the CPU also "direct" or "fitting";
  // empty: cuDNN's heuristics, or the CPU's rule (see choose_engines).
  std::string engines_file;
  std::string run_engines_file;  // the choices of the run that goes on, which count more
  // The engine choices of the whole run, so that all compared allocators use the same ones: read
  // from those files by resolved(), completed while kernels are made.
  std::shared_ptr<EngineChoices> engines = std::make_shared<EngineChoices>();
  std::shared_ptr<CudaRanks> ranks;  // the cards of a run of several ranks, once they are connected
};

// True if a budget may choose smaller engines than those of the rule.
bool fits_engines(const DeviceOptions& options);

// --device: cpu or cuda. `help` says what the command does there.
void add_device_option(OptionList& list, std::string& device, const std::string& help);
// --tf32, --deterministic, --prefetch, --graph, --workspace and --engines.
void add_device_options(OptionList& list, DeviceOptions& options);

// --lanes. No bit of a result depends on it.
void add_lanes_option(OptionList& list, DeviceOptions& options);

// Returns `options` with the engine choices of its files. Throws UsageError if a file holds none
// for `device`, and for an option that has no use there.
DeviceOptions resolved(DeviceOptions options, const std::string& device);

// The kernels of `device`. On a CUDA device, options.engines must outlive them. With `plan_only`
// nothing is computed or measured and no device is needed, only engine choices that describe the
// card. Throws std::runtime_error that names the flag and the reason; UsageError if choices are
// missing.
std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      bool plan_only = false);

}  // namespace skyline
