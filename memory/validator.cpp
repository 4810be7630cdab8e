// Rounds, sweeps and sums on its own: code shared with trace.cpp or a planner would share its
// mistakes.
#include "memory/validator.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "memory/plan_sweep.h"

namespace skyline {
namespace {

constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max();

std::string describe(const Trace& trace, const Placed& block) {
  return fmt::format("block {} (ticks [{}, {}), bytes [{}, {}))", trace.id(block.index),
                     block.lower, block.upper, block.begin, block.end);
}

// Returns what is wrong with one block on its own; empty if nothing.
std::string fault_of_block(const Trace& trace, const Plan& plan, std::size_t index, Placed& out) {
  const TraceBlock& block = trace.blocks[index];
  const std::uint64_t offset = plan.offsets[index];
  const auto name = [&] { return trace.id(index); };
  if (block.upper <= block.lower) {
    return fmt::format("block {} has the empty lifetime [{}, {})", name(), block.lower,
                       block.upper);
  }
  const bool own = !trace.alignments.empty();  // and then no size is rounded
  const std::uint64_t alignment = own ? trace.alignments[index] : plan.alignment;
  if (offset % alignment != 0) {
    return fmt::format("block {} begins at {}, which is not a multiple of {}", name(), offset,
                       alignment);
  }
  const bool rounds = !own && alignment > 1;
  const std::uint64_t bytes = rounds ? std::max<std::uint64_t>(block.bytes, 1) : block.bytes;
  const std::uint64_t slack = rounds ? (alignment - bytes % alignment) % alignment : 0;
  if (bytes > kLimit || slack > kLimit - bytes || offset > kLimit - bytes - slack) {
    return fmt::format("block {} of {} bytes at {} ends beyond {}", name(), block.bytes, offset,
                       kLimit);
  }
  if (const auto fixed = trace.fixed_offset(index); fixed && *fixed != offset) {
    return fmt::format("block {} begins at {}, but is fixed at {}", name(), offset, *fixed);
  }
  out = {index, block.lower, block.upper, offset, offset + bytes + slack};
  return {};
}

// Cuts blocks at their gaps. Returns what is wrong with a gap; empty if nothing.
std::string fault_of_gaps(const Trace& trace, std::vector<Placed>& placed) {
  std::vector<TraceGap> gaps = trace.gaps;
  std::sort(gaps.begin(), gaps.end(), [](const TraceGap& a, const TraceGap& b) {
    return a.block != b.block ? a.block < b.block : a.lower > b.lower;
  });
  for (const TraceGap& gap : gaps) {  // the last gap of a block first
    if (gap.block >= trace.size()) return fmt::format("a gap of block {} of none", gap.block);
    Placed& early = placed[gap.block];
    if (gap.lower < early.lower || gap.lower >= gap.upper || gap.upper > early.upper) {
      return fmt::format("block {} has the impossible gap [{}, {})", trace.id(gap.block), gap.lower,
                         gap.upper);
    }
    Placed late = early;
    early.upper = gap.lower;
    late.lower = gap.upper;
    placed.push_back(late);
  }
  std::erase_if(placed, [](const Placed& part) {
    return part.lower == part.upper || part.begin == part.end;
  });
  return {};
}

std::string fault_of_claims(const Plan& plan, std::uint64_t peak, std::uint64_t lower_bound) {
  if (plan.peak != peak) {
    return fmt::format("the plan claims the peak {}, but its highest byte is {}", plan.peak, peak);
  }
  if (plan.lower_bound != lower_bound) {
    return fmt::format("the plan claims the lower bound {}, but {} bytes are alive at most",
                       plan.lower_bound, lower_bound);
  }
  if (plan.proved_bound > peak) {
    return fmt::format("the plan claims that none is below {}, but its own peak is {}",
                       plan.proved_bound, peak);
  }
  if (plan.proved_optimal && peak > std::max(plan.proved_bound, lower_bound)) {
    return fmt::format("the plan claims to be optimal at {}, but only {} is proved", peak,
                       std::max(plan.proved_bound, lower_bound));
  }
  return {};
}

}  // namespace

Validity validate(const Trace& trace, const Plan& plan) {
  if (plan.offsets.size() != trace.size()) {
    return {.reason = fmt::format("the plan has {} offsets for {} blocks", plan.offsets.size(),
                                  trace.size())};
  }
  std::vector<std::uint64_t> alignments = trace.alignments;
  alignments.push_back(plan.alignment);
  for (const std::uint64_t alignment : alignments) {
    if (alignment > 0 && alignment <= kLimit) continue;
    return {.reason = fmt::format("the plan's alignment is {}", alignment)};
  }
  if (!trace.alignments.empty() && trace.alignments.size() != trace.size()) {
    return {.reason = fmt::format("the trace has {} alignments for {} blocks",
                                  trace.alignments.size(), trace.size())};
  }
  Validity verdict;
  std::vector<Placed> placed(trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    verdict.reason = fault_of_block(trace, plan, i, placed[i]);
    if (!verdict.reason.empty()) return verdict;
    verdict.peak = std::max(verdict.peak, placed[i].end);
  }
  verdict.reason = fault_of_gaps(trace, placed);
  if (!verdict.reason.empty()) return verdict;
  PlanSweep sweep(placed);
  if (const auto pair = sweep.first_overlap()) {
    const auto& [first, second] = *pair;
    verdict.reason =
        fmt::format("{} and {} share bytes [{}, {}) at tick {}", describe(trace, first),
                    describe(trace, second), std::max(first.begin, second.begin),
                    std::min(first.end, second.end), std::max(first.lower, second.lower));
    return verdict;
  }
  verdict.reason = fault_of_claims(plan, verdict.peak, sweep.most_live_bytes());
  verdict.valid = verdict.reason.empty();
  return verdict;
}

}  // namespace skyline
