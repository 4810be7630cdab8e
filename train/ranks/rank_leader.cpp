#include "train/ranks/rank_leader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/state/shared_state.h"

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

}  // namespace skyline
