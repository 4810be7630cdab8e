#include "train/translation/planned_pairs.h"

#include <omp.h>

#include <utility>

#include "memory/alignment.h"

namespace skyline {

PlannedChoice first_that_fits(const std::vector<PairBatch>& batches, const StepChoices& choices,
                              const DryPairStep& dry_step, const Session& session) {
  for (const Savings& savings : choices.savings) {
    const Trace trace = dry_step(batches, savings);
    if (lower_bound_bytes(trace, kAlignmentBytes) > choices.plan_bytes) continue;
    StepPlan plan = session.plan_for({&trace, 1});
    if (plan.plan.peak <= choices.plan_bytes) return {savings, std::move(plan)};
  }
  Savings found = choices.search(batches);
  const Trace trace = dry_step(batches, found);
  return {std::move(found), session.plan_for({&trace, 1})};
}

PlannedPairs::PlannedPairs(PairLoader loader, std::size_t step_batches, Session* session,
                           StepChoices choices, DryPairStep dry_step)
    : loader_(std::move(loader)),
      step_batches_(step_batches),
      session_(session),
      choices_(std::move(choices)),
      dry_step_(std::move(dry_step)) {}

std::vector<PairBatch> PlannedPairs::read() {
  std::vector<PairBatch> batches;
  while (batches.size() < step_batches_) batches.push_back(loader_.next());
  return batches;
}

PlannedPairs::Step PlannedPairs::next() {
  if (session_ == nullptr) return {read(), choices_.savings.front()};
  Coming now = coming_ ? *std::exchange(coming_, std::nullopt) : prepare();
  PlannedChoice choice = now.choice.get();
  session_->adopt_plan(std::move(choice.plan));
  // The next step is planned while the caller runs this one.
  coming_ = prepare();
  return {std::move(now.batches), std::move(choice.savings)};
}

PlannedPairs::Coming PlannedPairs::prepare() {
  std::vector<PairBatch> batches = read();
  // Workspace sizes depend on the number of threads, and OpenMP keeps that setting per thread.
  const auto plan = [this, batches, threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    return first_that_fits(batches, choices_, dry_step_, *session_);
  };
  // If no second thread can be started, get() makes the plan.
  return {std::move(batches), std::async(std::launch::async | std::launch::deferred, plan)};
}

}  // namespace skyline
