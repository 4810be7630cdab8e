#include "train/decide/live_parts.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/ranks/rank_group.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

constexpr std::string_view kCuda = "cuda";

EngineChoices parsed_engines(const std::string& text, const std::string& path) {
  try {
    return EngineChoices::from_json(text, path);
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--engines: ") + error.what());
  }
}

EngineChoices engines_in(const std::string& path, const std::string& device) {
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
  if (options.engines_file == kDirectEngines) return CpuOptions::Engines::kDirect;
  if (options.engines_file == kMeasuredEngines) return CpuOptions::Engines::kMeasured;
  return CpuOptions::Engines::kByShape;
}

// The CPU with the choices that it uses.
struct CpuWithChoices {
  CpuWithChoices(const DeviceOptions& options, const LiveParts& live, std::int64_t lanes)
      : choices(live.engines),
        compute({.engines = engines_of(options),
                 .choices = choices.get(),
                 .lanes = static_cast<std::size_t>(lanes)}) {}
  std::shared_ptr<EngineChoices> choices;
  CpuCompute compute;
};

}  // namespace

std::shared_ptr<EngineChoices> read_engines(const DeviceOptions& options, const std::string& device,
                                            const std::string& of_run) {
  const std::string given =
      is_engine_rule(options.engines_file) ? std::string() : options.engines_file;
  const bool planned = fits_engines(options);  // anew, as before
  const std::string& file = of_run.empty() || planned ? given : of_run;
  return std::make_shared<EngineChoices>(file.empty() ? EngineChoices() : engines_in(file, device));
}

std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      const LiveParts& live, std::int64_t lanes, bool plan_only) {
  const bool measured = options.engines_file == kMeasuredEngines;
  if (plan_only && measured) {
    throw UsageError(
        "--engines measured runs convolutions, a dry run does not: give it the engines.json of a "
        "run");
  }
  if (device != kCuda) {
    const auto cpu = std::make_shared<CpuWithChoices>(options, live, lanes);
    return {cpu, &cpu->compute};
  }
  if (plan_only && live.engines->card.empty()) {
    throw UsageError(
        "--device cuda in a dry run needs --engines: the engines.json of a run on the card");
  }
  return make_cuda_compute({.tf32 = options.tf32,
                            .deterministic = options.deterministic,
                            .workspace_bytes = options.workspace_bytes,
                            .measured = measured,
                            .on_timed =
                                [warn = live.warn](const TimedEngines& timed) {
                                  if (warn && timed.refused_bytes > 0) warn(timed.refusal());
                                },
                            .engines = live.engines.get(),
                            .plan_only = plan_only,
                            .graph = options.graph,
                            .ranks = live.cards});
}

std::shared_ptr<Compute> make_compute(const TrainOptions& options, const StepDecisions& decisions,
                                      const LiveParts& live) {
  return make_compute(options.memory.device, options.device, live, decisions.lanes);
}

Context::Options context_options(const TrainOptions& options, const StepDecisions& decisions,
                                 const LiveParts& live, Mode mode) {
  Context::Options context = context_options(options.step);
  context.compute = make_compute(options, decisions, live);
  context.mode = mode;
  context.savings = decisions.savings;
  context.orders = live.orders;
  context.prefetch = decisions.prefetch && mode == Mode::kTraining;
  context.seed = static_cast<std::uint64_t>(options.seed);
  return context;
}

StepShares step_shares(const TrainOptions& options, const StepDecisions& decisions,
                       const LiveParts& live) {
  const RankOptions& ranks = options.ranks;
  return {.micro_batches = static_cast<std::size_t>(options.step.micro_batches),
          .place = {.rank = live.group ? live.group->rank() : 0,
                    .ranks = static_cast<std::size_t>(ranks.ranks)},
          .group = live.group,
          .buckets = decisions.buckets,
          .shard_optimizer = ranks.shard_optimizer && ranks.ranks > 1,
          .fast_sum = ranks.fast_sum};
}

}  // namespace skyline
