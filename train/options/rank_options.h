#pragma once

#include <cstdint>
#include <memory>

#include "framework/context.h"
#include "framework/ranks/choose_buckets.h"

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
  std::shared_ptr<RankGroup> group = {};  // joined; no option
  SumBuckets buckets = {};                // chosen for the link; no option
};

// --bandwidth and --latency.
void add_link_options(OptionList& list, LinkOptions& options);
// --shard-optimizer and --fast-sum.
void add_sum_options(OptionList& list, RankOptions& options);
// Throws UsageError for a link that carries nothing, and if one of these options is given although
// no ranks train together.
void check_rank_options(const OptionList& list, const LinkOptions& link, bool has_ranks);

}  // namespace skyline
