#include "train/translation/planned_pairs.h"

#include <omp.h>

#include <utility>

namespace skyline {

PlannedPairs::PlannedPairs(PairLoader loader, std::size_t step_batches, Session* session,
                           DryStep dry_step)
    : loader_(std::move(loader)),
      step_batches_(step_batches),
      session_(session),
      dry_step_(std::move(dry_step)) {}

std::vector<PairBatch> PlannedPairs::read() {
  std::vector<PairBatch> batches;
  while (batches.size() < step_batches_) batches.push_back(loader_.next());
  return batches;
}

std::vector<PairBatch> PlannedPairs::next() {
  if (session_ == nullptr) return read();
  Coming now = coming_ ? *std::exchange(coming_, std::nullopt) : prepare();
  session_->adopt_plan(now.plan.get());
  // The next step is planned while the caller runs this one.
  coming_ = prepare();
  return std::move(now.batches);
}

PlannedPairs::Coming PlannedPairs::prepare() {
  std::vector<PairBatch> batches = read();
  // Workspace sizes depend on the number of threads, and OpenMP keeps that setting per thread.
  const auto plan = [this, batches, threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    const Trace trace = dry_step_(batches);
    return session_->plan_for({&trace, 1});
  };
  // If no second thread can be started, get() makes the plan.
  return {std::move(batches), std::async(std::launch::async | std::launch::deferred, plan)};
}

}  // namespace skyline
