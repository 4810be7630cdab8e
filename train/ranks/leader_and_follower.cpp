#include "train/ranks/leader_and_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "framework/ops/ranks/rank_sum_ops.h"
#include "train/checkpoints/initial_weights.h"
#include "train/cli/interrupt.h"
#include "train/run/divergence.h"
#include "train/run_folder/run_directory.h"
#include "train/state/training_state.h"

namespace skyline {

// FNV-1a over the offsets.
std::uint64_t plan_hash(const ModelRun& run) {
  const Session* const session = run.memory.session();
  if (session == nullptr || session->state() != Session::State::kPlanned) return 0;
  if (!run.batch_facts().lengths.empty()) return 0;
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint64_t offset : session->plan().offsets)
    hash = (hash ^ offset) * 1099511628211u;
  return hash;
}

BatchFacts RankLeader::begin_step(const ModelRun& run, std::int64_t number, double learning_rate) {
  if (!group_) return run.batch_facts();
  order({.kind = RankOrder::Kind::kStep,
         .step = number,
         .learning_rate = learning_rate,
         .plan = plan_hash_});
  BatchFacts facts = facts_of_ranks(run);
  busy_.emplace(*group_);
  return facts;
}

void RankLeader::end_step(const ModelRun& run) {
  if (!group_) return;
  busy_seconds_ = busy_->so_far();
  plan_hash_ = plan_hash(run);
}

void RankLeader::begin_evaluation(ModelRun& run, std::int64_t after_step) {
  if (!group_) return;
  order({.kind = RankOrder::Kind::kEvaluation, .step = after_step});
  share_running_values(run);
}

void RankLeader::end_run() {
  if (group_) order({.kind = RankOrder::Kind::kEnd});
}

void RankLeader::order(RankOrder order) {
  order.busy_seconds = std::exchange(busy_seconds_, 0);
  const std::vector<RankOrder> of_ranks = exchange(*group_, order);
  seconds_.resize(of_ranks.size());
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    seconds_[rank] += of_ranks[rank].busy_seconds;
  }
}

std::string RankLeader::slowest_rank() const {
  if (seconds_.empty()) return {};
  const auto slowest = std::ranges::max_element(seconds_);
  const double mean =
      std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(seconds_.size());
  return fmt::format("slowest rank {} (+{:.0f} %)", slowest - seconds_.begin(),
                     mean > 0 ? 100 * (*slowest / mean - 1) : 0.0);
}

std::optional<RankLane> RankLeader::lane(const StepGraph& graph,
                                         std::span<const BlockUse> uses) const {
  if (!group_) return {};
  const RankGroup::Seconds seconds = group_->seconds();
  RankLane lane{.ranks = group_->ranks(),
                .sums = {},
                .sum_seconds = seconds.working,
                .wait_seconds = seconds.waiting};
  for (const BlockUse& use : uses) {
    const StepOp& op = graph.ops[use.op];
    if (!begins_rank_sum(op.name) || use.kind != BlockUse::Kind::kRequest) continue;
    BucketSum& sum =
        lane.sums.emplace_back(BucketSum{.block = use.block, .gradients = op.inputs.size()});
    for (const ValueId value : op.inputs) sum.bytes += graph.values[value].bytes;
  }
  return lane;
}

Rows<RankLane> rows(const RankLane*) {
  return {{"ranks", kCount, "that train together", &RankLane::ranks},
          {"sums", "[block, gradients, bytes] of each bucket of a step",
           [](auto& lane) {
             std::vector<std::array<std::uint64_t, 3>> sums;
             for (const BucketSum& sum : lane.sums) {
               sums.push_back({sum.block, sum.gradients, sum.bytes});
             }
             return sums;
           }},
          {"sum_seconds", kSeconds, "of all sums of the run", &RankLane::sum_seconds},
          {"wait_seconds", kSeconds, "of them that steps waited for", &RankLane::wait_seconds}};
}

void require_same_plan(std::uint64_t of_rank_0, std::uint64_t own, std::size_t rank) {
  if (of_rank_0 == 0 || own == 0 || of_rank_0 == own) return;
  throw std::runtime_error(fmt::format("rank {} has another plan than rank 0", rank));
}

Follower::Follower(TrainOptions options, LiveParts live, Console& console)
    : options_(std::move(options)),
      live_(std::move(live)),
      decided_(decided_workload(options_, live_, console)),
      run_(decided_.workload->on(decided_.decisions, options_.memory, Mode::kTraining)) {}

void Follower::start_again(const std::filesystem::path&, const std::vector<std::string>&) {
  start({});
}

void Follower::start(const std::optional<std::filesystem::path>&) {
  if (!options_.init_weights.empty()) {
    load_initial_weights(run_->context, run_->network(), options_.init_weights);
  }
  position_.order_seed = options_.data.seed;
  decided_.workload->prepare();
}

void Follower::resume(const LoadedCheckpoint& loaded, const std::vector<std::string>&) {
  decided_.workload->check_data(loaded.checkpoint.position.data);
  restore(*run_, loaded.checkpoint);
  position_ = loaded.checkpoint.position;
  decided_.workload->resume(run_folder_of(loaded), position_.data);
}

// Signals reach all ranks; rank 0 saves and ends the run.
void Follower::run() {
  const Interrupt ignored;
  RankGroup& group = *live_.group;
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
  require_same_plan(order.plan, plan_, live_.group->rank());
  run_->next();
  facts_of_ranks(*run_);
  const BusySeconds busy(*live_.group);
  const RandomStream random = run_->context.random();
  try {
    run_->train_step(
        {.learning_rate = static_cast<float>(order.learning_rate), .step = order.step});
  } catch (const LossNotFinite& error) {
    throw explain_divergence(*run_, random, order.step, error);
  }
  busy_seconds_ = busy.so_far();
  plan_ = plan_hash(*run_);
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
