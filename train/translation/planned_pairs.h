#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <optional>
#include <vector>

#include "data/text/pair_loader.h"
#include "framework/context.h"
#include "memory/session/session.h"

namespace skyline {

// Dry-runs a training step on the batches with these savings.
using DryPairStep = std::function<Trace(const std::vector<PairBatch>&, const Savings&)>;

// Choices of how a step saves bytes, the fastest first, and the bytes that its plan may take.
struct StepChoices {
  std::vector<Savings> savings = {nullptr};
  std::uint64_t plan_bytes = std::numeric_limits<std::uint64_t>::max();
  // Finds savings that make a step of these batches fit, if none of the above does. Slow.
  std::function<Savings(const std::vector<PairBatch>&)> search = {};
};

// A choice and the plan of a step that makes it.
struct PlannedChoice {
  Savings savings;
  StepPlan plan;
};

// Returns the first choice whose plan fits, else what the search finds. Throws what it throws.
PlannedChoice first_that_fits(const std::vector<PairBatch>& batches, const StepChoices& choices,
                              const DryPairStep& dry_step, const Session& session);

// The batches of a run, step by step. With a session, next() returns a step's batches after
// adopting a plan for it: while a step runs, another thread dry-runs and plans the next one. Thread
// rule: only the thread that drives the steps.
class PlannedPairs {
 public:
  // A step has `step_batches`. If `session` is null, batches are only read. `dry_step` is called
  // only on the planning thread. The session and the loader's data outlive this object.
  PlannedPairs(PairLoader loader, std::size_t step_batches, Session* session, StepChoices choices,
               DryPairStep dry_step);

  struct Step {
    std::vector<PairBatch> batches;
    Savings savings;  // that the step must make
  };
  // Call between steps. Throws what the loader, the dry step and Session::adopt throw.
  Step next();

 private:
  struct Coming {
    std::vector<PairBatch> batches;
    std::future<PlannedChoice> choice;
  };
  std::vector<PairBatch> read();
  Coming prepare();

  PairLoader loader_;
  std::size_t step_batches_;
  Session* session_;
  StepChoices choices_;
  DryPairStep dry_step_;
  std::optional<Coming> coming_;  // waits for the other thread when destroyed
};

}  // namespace skyline
