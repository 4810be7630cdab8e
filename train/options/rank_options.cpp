#include "train/options/rank_options.h"

#include <fmt/format.h>

#include "train/cli/option_list.h"

namespace skyline {

void add_link_options(OptionList& list, LinkOptions& options) {
  list.add("--bandwidth", bytes(options.bandwidth),
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

void check_rank_options(const OptionList& list, const LinkOptions& link, bool has_ranks) {
  for (const char* const name : {"--bandwidth", "--latency", "--shard-optimizer", "--fast-sum"}) {
    if (!has_ranks && list.given(name)) {
      throw UsageError(fmt::format("{} is for --ranks and would do nothing here", name));
    }
  }
  if (link.bandwidth == 0) throw UsageError("--bandwidth: 0 bytes a second carry nothing");
}

}  // namespace skyline
