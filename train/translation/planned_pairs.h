#pragma once

#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "data/text/pair_loader.h"
#include "memory/session/session.h"

namespace skyline {

// The batches of a run, step by step. With a session, next() returns a step's batches after
// adopting a plan for it: while a step runs, another thread dry-runs and plans the next one. Thread
// rule: only the thread that drives the steps.
class PlannedPairs {
 public:
  // Dry-runs a training step on the batches; called only on the planning thread.
  using DryStep = std::function<Trace(const std::vector<PairBatch>&)>;

  // A step has `step_batches`. If `session` is null, batches are only read. The session and the
  // loader's data outlive this object.
  PlannedPairs(PairLoader loader, std::size_t step_batches, Session* session, DryStep dry_step);

  // Call between steps. Throws what the loader, the dry step and Session::adopt throw.
  std::vector<PairBatch> next();

 private:
  struct Coming {
    std::vector<PairBatch> batches;
    std::future<StepPlan> plan;
  };
  std::vector<PairBatch> read();
  Coming prepare();

  PairLoader loader_;
  std::size_t step_batches_;
  Session* session_;
  DryStep dry_step_;
  std::optional<Coming> coming_;  // waits for the other thread when destroyed
};

}  // namespace skyline
