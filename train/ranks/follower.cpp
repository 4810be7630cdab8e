#include "train/ranks/follower.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "train/checkpoints/initial_weights.h"
#include "train/checkpoints/training_state.h"
#include "train/cli/interrupt.h"
#include "train/ranks/shared_state.h"
#include "train/run/divergence.h"
#include "train/run_folder/run_directory.h"

namespace skyline {

// FNV-1a over the offsets.
std::uint64_t plan_hash(const ModelRun& run, const Workload& workload) {
  const Session* const session = run.memory.session();
  if (session == nullptr || session->state() != Session::State::kPlanned) return 0;
  if (!workload.lengths_name().empty()) return 0;
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint64_t offset : session->plan().offsets)
    hash = (hash ^ offset) * 1099511628211u;
  return hash;
}

void require_same_plan(std::uint64_t of_rank_0, std::uint64_t own, std::size_t rank) {
  if (of_rank_0 == 0 || own == 0 || of_rank_0 == own) return;
  throw std::runtime_error(fmt::format("rank {} has another plan than rank 0", rank));
}

Follower::Follower(TrainOptions options, Console& console)
    : options_(std::move(options)),
      workload_(make_workload(options_, console)),
      run_(workload_->on(options_.memory, Mode::kTraining)) {}

void Follower::start_again(const std::filesystem::path&, const std::vector<std::string>&) {
  start({});
}

void Follower::start(const std::optional<std::filesystem::path>&) {
  if (!options_.init_weights.empty()) {
    load_initial_weights(run_->context, run_->network(), options_.init_weights);
  }
  position_.order_seed = options_.data.seed;
  workload_->prepare();
}

void Follower::resume(const LoadedCheckpoint& loaded, const std::vector<std::string>&) {
  workload_->check_data(loaded.checkpoint.position);
  restore(*run_, loaded.checkpoint);
  position_ = loaded.checkpoint.position;
  workload_->resume(run_folder_of(loaded), position_);
}

// Signals reach all ranks; rank 0 saves and ends the run.
void Follower::run() {
  const Interrupt ignored;
  RankGroup& group = *options_.ranks.group;
  run_->seek({.epoch = static_cast<std::uint64_t>(position_.epoch),
              .batch = static_cast<std::uint64_t>(position_.batch)},
             position_.order_seed);
  while (true) {
    const RankOrder order =
        exchange(group, {.busy_seconds = std::exchange(busy_seconds_, 0)}).front();
    switch (order.kind) {
      case RankOrder::Kind::kStep:
        step(order);
        break;
      case RankOrder::Kind::kEvaluation:
        evaluate(order.step);
        break;
      case RankOrder::Kind::kState:
        give_state(*run_, order);
        break;
      case RankOrder::Kind::kEnd:
        return;
    }
  }
}

void Follower::step(const RankOrder& order) {
  require_same_plan(order.plan, plan_, options_.ranks.group->rank());
  run_->next();
  facts_of_ranks(*run_);
  const BusySeconds busy(*options_.ranks.group);
  const RandomStream random = run_->context.random();
  try {
    run_->step({.learning_rate = static_cast<float>(order.learning_rate), .step = order.step});
  } catch (const LossNotFinite& error) {
    throw explain_divergence(*run_, random, order.step, error);
  }
  busy_seconds_ = busy.so_far();
  plan_ = plan_hash(*run_, *workload_);
}

void Follower::evaluate(std::int64_t step) {
  share_running_values(*run_);
  try {
    run_->evaluate(step, {});
  } catch (const EvaluationStopped&) {
    // Rank 0 says what comes next.
  }
}

}  // namespace skyline
