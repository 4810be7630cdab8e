#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/options/train_options.h"
#include "train/workload.h"

namespace skyline {

// Rank 0 tells the other ranks before each step what to do, and when there is no more.
struct RankOrder {
  bool ends = false;
  std::int64_t step = 0;  // counts from 1
  double learning_rate = 0;
  std::uint64_t plan = 0;  // plan_hash() after the step before
};
// All ranks call it in the same sequence. Returns rank 0's.
RankOrder exchange(RankGroup& group, const RankOrder& of_rank_0 = {});

// Returns a number that tells the plans of training steps apart; 0 while no plan serves them, or
// where each step has a plan of its own. Call it after a step: an evaluation has another plan.
std::uint64_t plan_hash(const ModelRun& run, const Workload& workload);
// Throws std::runtime_error that names the rank if both ranks have plans and they differ.
void require_same_plan(std::uint64_t of_rank_0, std::uint64_t own, std::size_t rank);

// A rank other than 0: it makes the steps that rank 0 says and keeps no run folder.
class Follower {
 public:
  // Opens the data and makes the model, as Trainer does.
  Follower(TrainOptions options, Console& console);

  // As Trainer's; they write nothing.
  void start(const std::optional<std::filesystem::path>&);
  void start_again(const std::filesystem::path&, const std::vector<std::string>&);
  void resume(const LoadedCheckpoint& loaded, const std::vector<std::string>&);
  const Workload& workload() const noexcept { return *workload_; }
  // Returns once rank 0 says that the run ends.
  void run();

 private:
  TrainOptions options_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<ModelRun> run_;
  TrainingPosition position_;
};

}  // namespace skyline
