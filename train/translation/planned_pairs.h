#pragma once

#include <functional>
#include <future>
#include <optional>

#include "data/text/pair_loader.h"
#include "memory/session/session.h"

namespace skyline {

// The batches of a run. With a session, next() returns a batch after adopting a plan for its step:
// while a step runs, another thread dry-runs and plans the next batch. Thread rule: only the thread
// that drives the steps.
class PlannedPairs {
 public:
  // Dry-runs a training step on the batch; called only on the planning thread.
  using DryStep = std::function<Trace(const PairBatch&)>;

  // If `session` is null, batches are only read. The session and the loader's data outlive this
  // object.
  PlannedPairs(PairLoader loader, Session* session, DryStep dry_step);

  // Call between steps. Throws what the loader, the dry step and Session::adopt throw.
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
