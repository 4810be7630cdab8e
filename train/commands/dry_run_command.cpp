#include <omp.h>

#include <filesystem>
#include <memory>
#include <sstream>

#include "memory/device/cuda_device.h"
#include "memory/formats/csv/trace_csv.h"
#include "train/checkpoints/atomic_file.h"
#include "train/cli/option_types.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/lab/dry_run_answer.h"
#include "train/options/allocator_options.h"
#include "train/options/device_options.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

struct Arguments {
  ModelOptions model;
  std::int64_t batch_size = 32;
  std::int64_t threads = 0;
  bool infer = false;
  bool in_place = true;
  std::int64_t recompute = 0;
  bool fused_update = false;
  std::vector<std::string> allocators = allocator_names();
  AllocatorOptions allocator_options;
  std::string planner{kDefaultPlanner};
  std::optional<std::uint64_t> device_memory_bytes;
  std::string device = "cpu";
  DeviceOptions device_options;
  std::filesystem::path trace;
};

// On the CPU every convolution asks for --workspace; on a CUDA device it is a limit.
DryRunOptions program_of(const Arguments& arguments) {
  const std::optional<std::uint64_t>& workspace_bytes = arguments.device_options.workspace_bytes;
  const std::shared_ptr<Compute> compute =
      make_compute(arguments.device, arguments.device_options, true);
  return {.model = arguments.model.model,
          .shape = shape_of(arguments.model),
          .batch_size = arguments.batch_size,
          .mode = arguments.infer ? Mode::kInference : Mode::kTraining,
          .in_place = arguments.in_place,
          .recompute = static_cast<int>(arguments.recompute),
          .fused_update = arguments.fused_update,
          .prefetch = arguments.device_options.prefetch,
          .compute = compute,
          .convolution_workspace_bytes = compute ? std::nullopt : workspace_bytes};
}

// The backend's workspaces depend on the threads: as many as training would take.
void set_threads(const Arguments& arguments) {
  std::int64_t threads = arguments.threads;
  if (threads == 0) threads = find_model(arguments.model.model).threads;
  if (threads == 0) threads = omp_get_num_procs();
  omp_set_num_threads(static_cast<int>(threads));
}

void check(const Arguments& arguments) {
  if (arguments.device_memory_bytes == 0u) {
    throw UsageError("--device-memory: a device of 0 bytes holds nothing");
  }
  const bool bounded = arguments.device_memory_bytes || arguments.allocator_options.bfc.limit_bytes;
  if (!arguments.allocator_options.bfc.growth && !bounded) {
    throw UsageError(
        "--no-bfc-growth takes the whole device at once: give --device-memory or --bfc-limit");
  }
}

// Images that the model cannot take were asked for by --insize or --channels.
DryRunResult answer_or_refuse(const DryRunRequest& question) {
  try {
    return answer(question);
  } catch (const ShapeError& error) {
    throw UsageError(error.what());
  }
}

CommandResult run(Arguments arguments) {
  check(arguments);
  resolve(arguments.device_options, arguments.device);
  set_threads(arguments);
  DryRunRequest question{.program = program_of(arguments),
                         .allocators = {},
                         .device_memory_bytes = arguments.device_memory_bytes,
                         .planner = arguments.planner};
  const std::size_t commit_bytes = arguments.device == "cpu" ? kCommitBytes : kCudaCommitBytes;
  for (const std::string& given : arguments.allocators) {
    question.allocators.push_back({.allocator = canonical_allocator_name(given),
                                   .allocator_options = arguments.allocator_options,
                                   .planner = arguments.planner,
                                   .commit_bytes = commit_bytes});
  }
  const DryRunResult answered = answer_or_refuse(question);
  if (!arguments.trace.empty()) {
    std::ostringstream csv;
    write_trace_csv(csv, answered.facts.trace);
    write_atomically(arguments.trace, csv.str());
  }
  CommandResult result;
  result.json = to_json(answered);
  result.text = dry_run_text(answered);
  return result;
}

}  // namespace

CommandRun declare_dry_run(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_model_options(app, arguments->model);
  add_integer(app, "--batch-size", arguments->batch_size, 1, kMostImages, "Images a step");
  add_flag(app, "--infer", arguments->infer, "An inference step instead of a training step");
  add_flag(app, "!--no-in-place", arguments->in_place, "Never write an output over an input");
  add_recompute(app, arguments->recompute);
  add_fused_update(app, arguments->fused_update);
  add_choice(app, "--device", arguments->device, {"cpu", "cuda"}, "device",
             "Whose kernels say what they need; cuda wants --plan and no device");
  add_device_options(app, arguments->device_options);
  add_bytes(app, "--capacity,--device-memory", arguments->device_memory_bytes,
            "Say whether the step fits, and the largest batch that does; otherwise no limit");
  add_choices(app, "--allocators", arguments->allocators, allocator_names_and_aliases(),
              "allocator", "Allocators to compare");
  add_allocator_options(app, arguments->allocator_options);
  std::vector<std::string> names;
  for (const PlannerEntry& entry : planners()) names.emplace_back(entry.name);
  add_choice(app, "--planner", arguments->planner, names, "planner", "Who packs the step");
  add_integer(app, "--threads", arguments->threads, 0, 4096,
              "Of the step; 0 means what the model is worth");
  add_path(app, "--write-trace", arguments->trace,
           "Write the step's requests as MiniMalloc's CSV, for 'skyline plan'", "FILE.csv");
  return [arguments](Console&) { return run(*arguments); };
}

}  // namespace skyline
