#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"
#include "framework/ranks/choose_buckets.h"
#include "memory/order/order.h"

namespace skyline {

class OptionList;

// What carries gradients between ranks.
struct LinkOptions {
  std::uint64_t bandwidth = RankLink().bytes_per_second;
  double latency = 1e6 * RankLink().message_seconds;  // microseconds

  RankLink link() const {
    return {.bytes_per_second = bandwidth, .message_seconds = latency / 1e6};
  }
};

// The processes that train a network together.
struct RankOptions {
  std::int64_t ranks = 1;
  LinkOptions link;
  bool shard_optimizer = false;
  bool fast_sum = false;
};

// --bandwidth and --latency.
void add_link_options(OptionList& list, LinkOptions& options);
// --shard-optimizer and --fast-sum.
void add_sum_options(OptionList& list, RankOptions& options);
// Throws UsageError if one of these options is given although no ranks train together.
void check_rank_options(const OptionList& list, bool has_ranks);

inline constexpr std::string_view kProgramOrder = "program";  // steps run as they are written

// Ways to lower a step's memory, and what it trains. To add one: a member, its row, and a line in
// context_options(). Every command that runs steps then has it.
struct StepOptions {
  bool in_place = true;
  std::int64_t recompute = 0;  // see Context::Options
  bool fused_update = false;
  std::int64_t micro_batches = 1;  // whose gradients are added before one update
  std::string order{kDefaultOrder};
  std::optional<std::uint64_t> memory_bytes =
      {};                                // that a training step may reserve; see StepBudget
  std::string profile = {};              // file or run folder with seconds of each op
  std::vector<std::string> freeze = {};  // layers that training leaves as they are
  bool train_last = false;               // all but the last one
  std::vector<std::string> frozen = {};  // the parameters that these two name, once resolved
};

// --no-in-place, --recompute, --fused-update, --micro-batches, --order, --freeze and --train-last.
void add_step_options(OptionList& list, StepOptions& options);
// The last two alone.
void add_freezing_options(OptionList& list, StepOptions& options);
// --memory and --profile.
void add_budget_options(OptionList& list, StepOptions& options);
// "32", or "4 × 8 = 32" if a step has several batches.
std::string batch_text(std::int64_t batch_size, std::int64_t batches);

// Contexts made from the same result share their orders.
Context::Options context_options(const StepOptions& options);

}  // namespace skyline
