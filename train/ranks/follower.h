#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/decide/live_parts.h"
#include "train/options/train_options.h"
#include "train/run/model_run.h"
#include "train/state/rank_orders.h"
#include "train/workload.h"

namespace skyline {

// Throws std::runtime_error that names the rank if both ranks have plans and they differ.
void require_same_plan(std::uint64_t of_rank_0, std::uint64_t own, std::size_t rank);

// A rank other than 0: it does what rank 0 says and keeps no run folder.
class Follower {
 public:
  // Opens the data and makes the model, as Trainer does.
  Follower(TrainOptions options, LiveParts live, Console& console);

  // As Trainer's; they write nothing.
  void start(const std::optional<std::filesystem::path>&);
  void start_again(const std::filesystem::path&, const std::vector<std::string>&);
  void resume(const LoadedCheckpoint& loaded, const std::vector<std::string>&);
  const DecidedWorkload& decided() const noexcept { return decided_; }
  // Returns once rank 0 says that the run ends.
  void run();

 private:
  void step(const RankOrder& order);
  void evaluate(std::int64_t step);

  TrainOptions options_;
  LiveParts live_;
  DecidedWorkload decided_;
  std::unique_ptr<ModelRun> run_;
  TrainingPosition position_;
  std::uint64_t plan_ = 0;   // plan_hash() after the last step
  double busy_seconds_ = 0;  // of the last step
};

}  // namespace skyline
