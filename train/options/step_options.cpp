#include "train/options/step_options.h"

#include <fmt/format.h>

#include "train/cli/byte_sizes.h"
#include "train/cli/option_list.h"

namespace skyline {

void add_link_options(OptionList& list, LinkOptions& options) {
  list.add("--bandwidth", some_bytes(options.bandwidth, "a second carry nothing"),
           "With --ranks: bytes a second that a rank sends, and receives meanwhile; decides which "
           "gradients are summed together",
           kNeutral | kMayBeAbsent);
  list.add("--latency", number(options.latency, 0, 1e9),
           "With --ranks: microseconds of a message, whatever its size", kNeutral | kMayBeAbsent);
}

void add_sum_options(OptionList& list, RankOptions& options) {
  list.add("--shard-optimizer", flag(options.shard_optimizer),
           "With --ranks: divide the optimizer's state among the ranks; each updates its share of "
           "each parameter",
           kNeutral | kMayBeAbsent);
  list.add("--fast-sum", flag(options.fast_sum),
           "With --ranks: let MPI or NCCL add gradients in the order that it likes; then bits "
           "depend on the ranks",
           kMayChange | kMayBeAbsent);
}

void check_rank_options(const OptionList& list, bool has_ranks) {
  for (const char* const name : {"--bandwidth", "--latency", "--shard-optimizer", "--fast-sum"}) {
    if (!has_ranks && list.given(name)) {
      throw UsageError(fmt::format("{} is for --ranks and would do nothing here", name));
    }
  }
}

namespace {

constexpr std::int64_t kMostMicroBatches = 1024;

}  // namespace

void add_step_options(OptionList& list, StepOptions& options) {
  list.add("--no-in-place", negated_flag(options.in_place), "Never write an output over an input");
  list.add("--recompute", integer(options.recompute, 0, 1000),
           "Recompute chains of up to N cheap ops in backward instead of storing results (0: off)",
           kMayBeAbsent);
  list.add("--fused-update", flag(options.fused_update),
           "Keep no gradient across the step: free each once its parameter is updated",
           kMayBeAbsent)
      .excludes(
          "--micro-batches",
          "--fused-update keeps no gradient that --micro-batches could add to: leave out one of "
          "them");
  list.add(
      "--micro-batches", integer(options.micro_batches, 1, kMostMicroBatches),
      "Batches of --batch-size whose gradients are added before one update with their mean; an "
      "epoch leaves out the batches that do not fill a step",
      kMayBeAbsent);
  list.add("--order", choice(options.order, names_of(order_algorithms()), "order"),
           "Sequence of gradients and updates; optimal: the one with the lowest peak",
           kMayBeAbsent);
  add_freezing_options(list, options);
}

void add_freezing_options(OptionList& list, StepOptions& options) {
  const std::string of_training = "an inference step trains nothing: leave out --infer";
  list.add("--freeze", texts(options.freeze, "LAYER"),
           "Layers to leave as they are, by their names in files or in 'summary': conv1, layer1, "
           "layer2.*; frozen batch normalizations use their running values",
           kMayBeAbsent)
      .excludes("--train-last", "--train-last freezes all other layers: leave out --freeze")
      .excludes("--infer", of_training);
  list.add("--train-last", flag(options.train_last), "Freeze all layers but the last one",
           kMayBeAbsent)
      .excludes("--infer", of_training);
}

void add_budget_options(OptionList& list, StepOptions& options) {
  const std::string ahead = "--memory plans before the first step: it needs --policy upper-bound";
  list.add("--memory", some_bytes(options.memory_bytes, "hold nothing"),
           "Bytes that a training step may reserve: recomputes values instead of keeping them, so "
           "that the step is the fastest that fits",
           kNeutral | kMayBeAbsent)
      .excludes("--recompute", "--memory chooses what to recompute: leave out --recompute")
      .excludes("--policy grow", ahead)
      .excludes("--policy per-shape", ahead)
      .needs({"--allocator planned"}, "--memory plans each step: it needs --allocator planned");
  list.add("--profile", text(options.profile, "FILE"),
           "Seconds of each op for --memory and --ranks, from another run's folder or profile.json "
           "(default: a model of the device)",
           kNeutral | kMayBeAbsent);
}

std::string batch_text(std::int64_t batch_size, std::int64_t batches) {
  if (batches == 1) return format_count(batch_size);
  return fmt::format("{} × {} = {}", batches, format_count(batch_size),
                     format_count(batches * batch_size));
}

Context::Options context_options(const StepOptions& options) {
  return {.in_place = options.in_place,
          .recompute = static_cast<int>(options.recompute),
          .fused_update = options.fused_update,
          .orders = options.order == kProgramOrder
                        ? nullptr
                        : std::make_shared<StepOrders>(options.order, options.in_place),
          .frozen = options.frozen};
}

}  // namespace skyline
