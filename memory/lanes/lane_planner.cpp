#include "memory/lanes/lane_planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "memory/lanes/block_conflicts.h"
#include "memory/lanes/conflict_packer.h"
#include "memory/planners/registry.h"
#include "memory/planners/split_mix.h"
#include "memory/step_uses.h"

namespace skyline {
namespace {

// The step of conflicts that no interval describes: blocks are placed in several orders, and the
// lowest placement wins.
class ConflictPlanner {
 public:
  ConflictPlanner(const Trace& trace, const BlockConflicts& conflicts, const PlanOptions& options)
      : trace_(trace), conflicts_(conflicts), options_(options) {
    for (const TraceBlock& block : trace.blocks) {
      bytes_.push_back(align_request(block.bytes, options.alignment));
    }
  }

  Plan run() {
    try_plan_of_intervals();
    for (const auto& key : keys()) try_order(sorted_by_key(key));
    return std::move(best_);
  }

 private:
  using Key = std::vector<double>;

  // Lengthens every block's life to the last request that it conflicts with: then the ordinary
  // planner can place the blocks.
  void try_plan_of_intervals() {
    Trace intervals = trace_;
    for (std::size_t late = 0; late < trace_.size(); ++late) {
      for (std::size_t early = 0; early < late; ++early) {
        if (!conflicts_.conflict(early, late)) continue;
        Tick& upper = intervals.blocks[early].upper;
        upper = std::max(upper, trace_.blocks[late].lower + 1);
      }
    }
    best_ = plan(intervals, kDefaultPlanner, options_);
    best_.lower_bound = lower_bound_bytes(trace_, options_.alignment);
    best_.planner = "lanes";
    claim_bound();
    Key offsets(best_.offsets.begin(), best_.offsets.end());
    for (double& offset : offsets) offset = -offset;
    try_order(sorted_by_key(offsets));
  }

  // Largest key first.
  std::vector<Key> keys() const {
    Key bytes(bytes_.begin(), bytes_.end()), degree(size()), area(size()), program(size());
    for (std::size_t block = 0; block < size(); ++block) {
      program[block] = -static_cast<double>(block);
      for (std::size_t other = 0; other < size(); ++other) {
        if (conflicts_.conflict(block, other)) degree[block] += bytes[other];
      }
      area[block] = bytes[block] * degree[block];
    }
    return {bytes, area, degree, program};
  }

  std::vector<std::size_t> sorted_by_key(const Key& key) const {
    std::vector<std::size_t> order(size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key[a] > key[b]; });
    return order;
  }

  void try_order(const std::vector<std::size_t>& order) {
    std::vector<std::uint64_t> offsets = place_in_order(conflicts_, bytes_, order);
    const std::uint64_t peak = peak_of(offsets, bytes_);
    if (peak >= best_.peak) return;
    best_.offsets = std::move(offsets);
    best_.peak = peak;
    claim_bound();
  }

  void claim_bound() {
    best_.proved_bound = best_.lower_bound;
    best_.proved_optimal = best_.peak == best_.proved_bound;
  }

  std::size_t size() const { return bytes_.size(); }

  const Trace& trace_;
  const BlockConflicts& conflicts_;
  const PlanOptions& options_;
  std::vector<std::uint64_t> bytes_;
  Plan best_;
};

// No two blocks conflict that are not alive at one tick.
bool are_intervals(const Trace& trace, const BlockConflicts& conflicts) {
  for (std::size_t late = 0; late < trace.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      if (conflicts.conflict(early, late) &&
          trace.blocks[early].upper <= trace.blocks[late].lower) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const PlanOptions& options) {
  if (lanes.size() != graph.ops.size()) {
    throw std::invalid_argument(
        fmt::format("lanes: got the lanes of {} ops, expected {}", lanes.size(), graph.ops.size()));
  }
  const SimulatedStep step = simulate_uses(graph);
  const HappensBefore order(step_edges(graph, step), lanes);
  const BlockConflicts conflicts(step.trace, block_ops(step, order), order);
  if (are_intervals(step.trace, conflicts)) return plan(step.trace, kDefaultPlanner, options);
  return ConflictPlanner(step.trace, conflicts, options).run();
}

}  // namespace skyline
