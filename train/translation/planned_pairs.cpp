#include "train/translation/planned_pairs.h"

#include <omp.h>

#include <utility>

namespace skyline {

PlannedPairs::PlannedPairs(PairLoader loader, Session* session, const TranslationDryRun& how)
    : loader_(std::move(loader)), session_(session) {
  if (session_ != nullptr) runner_.emplace(how);
}

PairBatch PlannedPairs::next() {
  if (session_ == nullptr) return loader_.next();
  Coming now = coming_ ? *std::exchange(coming_, std::nullopt) : prepare();
  session_->adopt_plan(now.plan.get());
  coming_ = prepare();
  return std::move(now.batch);
}

PlannedPairs::Coming PlannedPairs::prepare() {
  PairBatch batch = loader_.next();
  // Kernels take workspace by the number of threads, which each thread has its own of.
  const auto plan = [this, batch, threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    const Trace trace = runner_->run(batch);
    return session_->plan_for({&trace, 1});
  };
  // Where no second thread is to be had, it is planned when asked for.
  return {std::move(batch), std::async(std::launch::async | std::launch::deferred, plan)};
}

}  // namespace skyline
