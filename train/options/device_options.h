#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

class OptionList;

inline constexpr std::string_view kEnginesFile = "engines.json";

// How a CUDA device computes. The CPU ignores all but engines and workspace_bytes of a dry run.
struct DeviceOptions {
  bool tf32 = false;
  bool deterministic = false;
  bool graph = false;    // launch ops that return unchanged as CUDA graphs
  bool prefetch = true;  // copy a step's inputs while the previous step runs; see decide()
  std::optional<std::uint64_t> workspace_bytes;  // limit, see --workspace
  std::int64_t lanes = 1;                        // of the CPU, see --lanes; 0: to be measured
  // A file of engine choices to start from; or "measured"; on the CPU also "direct" or "fitting";
  // empty: cuDNN's heuristics, or the CPU's rule (see choose_engines).
  std::string engines_file;
};

// How engines are chosen, unless `engines_file` names a file.
inline constexpr std::string_view kDirectEngines = "direct", kMeasuredEngines = "measured",
                                  kFittingEngines = "fitting";
// True if `engines_file` is one of the rules above.
bool is_engine_rule(std::string_view engines_file);
// True if a budget may choose smaller engines than those of the rule.
bool fits_engines(const DeviceOptions& options);

// --device: cpu or cuda. `help` says what the command does there.
void add_device_option(OptionList& list, std::string& device, const std::string& help);
// --tf32, --deterministic, --no-prefetch, --graph, --workspace and --engines.
void add_device_options(OptionList& list, DeviceOptions& options);

// --threads and --lanes. No bit of a result depends on lanes.
void add_core_options(OptionList& list, std::int64_t& threads, DeviceOptions& options);

// Returns `options` with a whole path. Throws UsageError for an option that has no use on `device`.
DeviceOptions resolved(DeviceOptions options, const std::string& device);

}  // namespace skyline
