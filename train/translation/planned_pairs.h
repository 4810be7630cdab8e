#pragma once

#include <functional>
#include <future>
#include <optional>

#include "data/text/pair_loader.h"
#include "memory/session/session.h"

namespace skyline {

// The batches of a run. With a session each has a plan for its step in place when it is handed out:
// while a step runs, the next batch is run dry and planned on another thread.
// Thread rule: one thread, the one that drives the steps.
class PlannedPairs {
 public:
  // Runs a training step of the batch dry; called on the other thread alone.
  using DryStep = std::function<Trace(const PairBatch&)>;

  // Without a session (null), the batches alone. It outlives this, as do the loader's data.
  PlannedPairs(PairLoader loader, Session* session, DryStep dry_step);

  // Between steps. Throws what the loader, the dry step and Session::adopt throw.
  PairBatch next();

 private:
  struct Coming {
    PairBatch batch;
    std::future<StepPlan> plan;
  };
  Coming prepare();

  PairLoader loader_;
  Session* session_;
  DryStep dry_step_;
  std::optional<Coming> coming_;  // waits for the other thread when destroyed
};

}  // namespace skyline
