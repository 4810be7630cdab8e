#include "train/ranks/follower.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "framework/ranks/rank_group.h"
#include "train/checkpoints/initial_weights.h"
#include "train/checkpoints/training_state.h"
#include "train/cli/interrupt.h"
#include "train/run/divergence.h"
#include "train/run_folder/run_directory.h"

namespace skyline {

RankOrder exchange(RankGroup& group, const RankOrder& of_rank_0) {
  std::string bytes(sizeof(RankOrder), '\0');
  std::memcpy(bytes.data(), &of_rank_0, sizeof(RankOrder));
  bytes = group.broadcast(std::move(bytes));
  RankOrder order;
  std::memcpy(&order, bytes.data(), sizeof(RankOrder));
  return order;
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
  for (RankOrder order = exchange(group); !order.ends; order = exchange(group)) {
    run_->next();
    const RandomStream random = run_->context.random();
    try {
      run_->step({.learning_rate = static_cast<float>(order.learning_rate), .step = order.step});
    } catch (const LossNotFinite& error) {
      throw explain_divergence(*run_, random, order.step, error);
    }
  }
}

}  // namespace skyline
