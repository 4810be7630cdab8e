#pragma once

#include <future>
#include <optional>

#include "data/text/pair_loader.h"
#include "memory/session/session.h"
#include "train/translation/translation_run.h"

namespace skyline {

// The batches of a run, each with a plan for its step in place once it is handed out: a dry run
// tells what the step will request. While a step runs, the next batch is run dry and planned on
// another thread. Thread rule: one thread, the one that drives the steps.
class PlannedPairs {
 public:
  // Without a session, the batches alone. It outlives this, as do the loader's data.
  PlannedPairs(PairLoader loader, Session* session, const TranslationDryRun& how);

  // Between steps. Throws what the loader, dry runs and Session::adopt throw.
  PairBatch next();

 private:
  struct Coming {
    PairBatch batch;
    std::future<StepPlan> plan;
  };
  Coming prepare();

  PairLoader loader_;
  Session* session_;
  std::optional<TranslationDryRunner> runner_;  // the other thread's while a plan is in work
  std::optional<Coming> coming_;                // waits for that thread when destroyed
};

}  // namespace skyline
