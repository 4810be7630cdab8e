#include "train/translation/planned_pairs.h"

#include <omp.h>

#include <utility>

namespace skyline {

PlannedPairs::PlannedPairs(PairLoader loader, Session* session, DryStep dry_step)
    : loader_(std::move(loader)), session_(session), dry_step_(std::move(dry_step)) {}

PairBatch PlannedPairs::next() {
  if (session_ == nullptr) return loader_.next();
  Coming now = coming_ ? *std::exchange(coming_, std::nullopt) : prepare();
  session_->adopt_plan(now.plan.get());
  // The next batch is planned while the caller runs this one.
  coming_ = prepare();
  return std::move(now.batch);
}

PlannedPairs::Coming PlannedPairs::prepare() {
  PairBatch batch = loader_.next();
  // Workspace sizes depend on the number of threads, and OpenMP keeps that setting per thread.
  const auto plan = [this, batch, threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    const Trace trace = dry_step_(batch);
    return session_->plan_for({&trace, 1});
  };
  // If no second thread can be started, get() makes the plan.
  return {std::move(batch), std::async(std::launch::async | std::launch::deferred, plan)};
}

}  // namespace skyline
