#pragma once

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

// What rank 0 tells the other ranks before each step, and when there is none. All ranks call these
// in the same sequence.
struct RankOrder {
  bool ends = false;
  std::int64_t step = 0;  // counts from 1
  double learning_rate = 0;
};
RankOrder exchange(RankGroup& group, const RankOrder& of_rank_0 = {});

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
