#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/lab/largest_batch.h"
#include "train/lab/model_dry_run.h"
#include "train/lab/strategies.h"

namespace skyline {

// What is asked of a dry run.
struct DryRunRequest {
  DryRunOptions program;
  std::vector<ReplayChoice> allocators;  // without a capacity
  std::optional<std::uint64_t> device_memory_bytes = {};
  std::string planner{kDefaultPlanner};
};

struct AllocatorAnswer {
  AllocatorUse unlimited;                 // on a device without limit
  std::optional<AllocatorUse> on_device;  // of the given memory
};

struct DryRunResult {
  DryRunRequest question;
  DryRunFacts facts;
  Plan plan;
  std::vector<AllocatorAnswer> allocators;  // in the order of the question
  std::vector<Strategy> strategies;
  std::optional<LargestBatches> largest;  // where the device's memory was given
  // Where not even one image fits: one image on a device without limit, and the largest batch of
  // inference steps that fits planned.
  std::vector<AllocatorUse> single_image;
  std::optional<std::int64_t> inference_batch;
  double seconds = 0;  // in all
};

// Throws ShapeError, what planners throw.
DryRunResult answer(const DryRunRequest& question);

nlohmann::ordered_json to_json(const DryRunResult& answer);
// Tables of at most 80 columns.
std::string dry_run_text(const DryRunResult& answer);
// "gap 0 to the lower bound: optimal", "0.12 % above the lower bound".
std::string gap_sentence(const Plan& plan);

}  // namespace skyline
