#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/run/model_run.h"
#include "train/state/rank_orders.h"

namespace skyline {

// Returns a number that tells the plans of training steps apart; 0 while no plan serves them, or
// where each step has a plan of its own, because batches differ in length. Call it after a step: an
// evaluation has another plan.
std::uint64_t plan_hash(const ModelRun& run);

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

 private:
  void order(RankOrder order);

  std::shared_ptr<RankGroup> group_;
  std::optional<BusySeconds> busy_;  // in the running step
  double busy_seconds_ = 0;          // of the last step, on this rank
  std::uint64_t plan_hash_ = 0;      // of the last step
  std::vector<double> seconds_;
};

}  // namespace skyline
