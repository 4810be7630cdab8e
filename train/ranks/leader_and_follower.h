#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/step_graph.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/cli/figures.h"
#include "train/decide/live_parts.h"
#include "train/options/train_options.h"
#include "train/run/model_run.h"
#include "train/state/shared_state.h"
#include "train/workload.h"

namespace skyline {

// Returns a number that tells the plans of training steps apart; 0 while no plan serves them, or
// where each step has a plan of its own, because batches differ in length. Call it after a step: an
// evaluation has another plan.
std::uint64_t plan_hash(const ModelRun& run);

// The sum of a bucket of gradients over the ranks, within a step.
struct BucketSum {
  std::size_t block = 0;  // of the trace: it holds what the other ranks send while the sum runs
  std::size_t gradients = 0;
  std::uint64_t bytes = 0;  // of the gradients
};

// The sums of a run on several ranks, as its report shows them; the page's keys are these members.
struct RankLane {
  std::size_t ranks = 0;
  std::vector<BucketSum> sums;  // of one step, as they begin
  // Of the run as this rank measured it: seconds of all sums, from begin to end, and those that
  // steps waited for. Sums that overlap count one by one.
  double sum_seconds = 0, wait_seconds = 0;
};
Rows<RankLane> rows(const RankLane*);

// Rank 0 of a run: tells the other ranks what comes, and learns how long each of them computes.
// With one process it leads nobody.
class RankLeader {
 public:
  explicit RankLeader(std::shared_ptr<RankGroup> group) : group_(std::move(group)) {}

  // Before and after a step on the current batches; returns facts about those of all ranks.
  BatchFacts begin_step(const ModelRun& run, std::int64_t number, double learning_rate);
  void end_step(const ModelRun& run);
  void begin_evaluation(ModelRun& run, std::int64_t after_step);
  void end_run();

  // That each rank computed in all steps; none with one process.
  const std::vector<double>& seconds() const noexcept { return seconds_; }
  // "slowest rank 1 (+3 %)": the rank that computed longest so far, and how much longer than a rank
  // does on average. Empty with one process.
  std::string slowest_rank() const;
  // Returns the sums of the run so far, and those of a step by the uses of its blocks; nothing with
  // one process.
  std::optional<RankLane> lane(const StepGraph& graph, std::span<const BlockUse> uses) const;

 private:
  void order(RankOrder order);

  std::shared_ptr<RankGroup> group_;
  std::optional<BusySeconds> busy_;  // in the running step
  double busy_seconds_ = 0;          // of the last step, on this rank
  std::uint64_t plan_hash_ = 0;      // of the last step
  std::vector<double> seconds_;
};

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
