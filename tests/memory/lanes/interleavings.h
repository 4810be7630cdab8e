#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/planners/search.h"
#include "memory/step_graph.h"

namespace skyline {

// Runs a small step on lanes, byte by byte, in one interleaving or in all that lanes and events
// allow. An op takes time: it begins by reading its inputs and filling what it writes with rubbish,
// and ends by reading them again and writing the result. It must find each input as the program's
// sequence leaves it, and its own rubbish. Knows nothing of paths.
class Interleavings {
 public:
  // The plan's alignment must be 1, and there may be at most 32 ops.
  Interleavings(const StepGraph& graph, const Plan& plan, const Lanes& lanes,
                std::span<const LaneEvent> events)
      : ops_(graph.ops.size()), resident_begin_(plan.peak) {
    add_waits(lanes, events);
    add_accesses(graph, simulate_uses(graph), plan);
    start();
  }

  void start() {
    state_ = {.memory = std::vector<Content>(resident_begin_ + residents_ + blocks_, kPoison)};
    std::fill_n(state_.memory.begin() + static_cast<std::ptrdiff_t>(resident_begin_), residents_,
                kInitial);
    is_bad_ = false;
  }

  // True if some op, or the end of the step, finds other bytes than in the program's sequence.
  bool some_interleaving_is_bad() {
    std::set<State> met;
    std::vector<State> open = {state_};
    while (!open.empty()) {
      const State from = std::move(open.back());
      open.pop_back();
      for (std::uint32_t op = 0; op < ops_.size(); ++op) {
        state_ = from;
        if (!step(op)) continue;
        if (is_bad_ || (is_over() && !end_is_right())) return true;
        if (met.insert(state_).second) open.push_back(state_);
      }
    }
    return false;
  }

  bool random_interleaving_is_bad(SplitMix& random) {
    start();
    while (!is_over() && !is_bad_) step(static_cast<std::uint32_t>(random.below(ops_.size())));
    return is_bad_ || !end_is_right();
  }

  // An interleaving in which `second` begins as early as it may: `first` only begins before it if
  // it must.
  bool is_bad_if_hurried(OpId first, OpId second) {
    start();
    finish_all_before(second);
    begin(second);
    finish_all_before(first);
    step(first);
    while (!is_over()) {
      for (std::uint32_t op = 0; op < ops_.size(); ++op) step(op);
    }
    return is_bad_ || !end_is_right();
  }

 private:
  using Content = std::uint32_t;
  static constexpr Content kPoison = 0, kInitial = 1;

  struct Access {
    std::size_t begin, end;
    Content content;    // expected, or the result; one more is rubbish
    std::size_t place;  // block, or resident value behind all blocks
  };
  struct Op {
    std::uint32_t waits = 0;  // bits: ops that must be done first
    std::vector<Access> reads, writes;
    std::vector<Access> inputs;  // reads of what it does not write itself
  };
  struct State {
    std::uint32_t begun = 0, done = 0;  // bits
    std::vector<Content> memory;
    auto operator<=>(const State&) const = default;
  };

  static std::uint32_t bit(std::uint32_t op) { return std::uint32_t{1} << op; }

  void add_waits(const Lanes& lanes, std::span<const LaneEvent> events) {
    for (std::uint32_t op = 0; op < ops_.size(); ++op) {
      for (std::uint32_t before = 0; before < op; ++before) {
        if (lanes[before] == lanes[op]) ops_[op].waits |= bit(before);
      }
    }
    for (const LaneEvent& event : events) ops_[event.after].waits |= bit(event.before);
  }

  void add_accesses(const StepGraph& graph, const SimulatedStep& step, const Plan& plan) {
    std::vector<Content> resident(graph.values.size(), kInitial), block(step.trace.size());
    std::vector<ValueId> in_block(step.trace.size(), BlockUse::kNoValue);
    const std::size_t blocks = step.trace.size();
    Content next = kInitial + 1;
    auto use = step.uses.begin();
    residents_ = graph.values.size();
    blocks_ = blocks;
    // A block without bytes has a place of its own, behind the resident values.
    const auto range_of = [&](std::size_t k) {
      const std::size_t bytes = step.trace.blocks[k].bytes;
      const std::size_t begin = bytes > 0 ? plan.offsets[k] : resident_begin_ + residents_ + k;
      return std::pair(begin, begin + std::max<std::size_t>(bytes, 1));
    };
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      Op& op = ops_[id];
      const auto place_of = [&](ValueId value) { return resident_begin_ + value; };
      for (const ValueId input : graph.ops[id].inputs) {
        const ValueId owner = graph.values[input].storage;
        if (!graph.values[owner].resident) continue;
        op.reads.push_back({place_of(owner), place_of(owner) + 1, resident[owner], blocks + owner});
      }
      for (const ValueId output : graph.ops[id].outputs) {
        if (!graph.values[output].resident || graph.values[output].storage != output) continue;
        resident[output] = next;
        op.writes.push_back({place_of(output), place_of(output) + 1, next, blocks + output});
        next += 2;
      }
      for (; use != step.uses.end() && use->op == id; ++use) {
        const auto [begin, end] = range_of(use->block);
        if (use->kind == BlockUse::Kind::kRead) {
          op.reads.push_back({begin, end, block[use->block], use->block});
          continue;
        }
        block[use->block] = next;
        in_block[use->block] = use->value;
        op.writes.push_back({begin, end, next, use->block});
        next += 2;
      }
      for (const Access& read : op.reads) {
        const auto is_same = [&](const Access& write) { return write.place == read.place; };
        if (std::ranges::none_of(op.writes, is_same)) op.inputs.push_back(read);
      }
    }
    for (ValueId value = 0; value < graph.values.size(); ++value) {
      const ValueId owner = graph.values[value].storage;
      if (!graph.values[value].kept) continue;
      for (std::size_t k = 0; k < in_block.size(); ++k) {
        if (in_block[k] != owner) continue;
        const auto [begin, end] = range_of(k);
        kept_.push_back({begin, end, block[k], k});
      }
    }
    for (ValueId value = 0; value < graph.values.size(); ++value) {
      kept_.push_back(
          {resident_begin_ + value, resident_begin_ + value + 1, resident[value], blocks + value});
    }
  }

  bool holds(const Access& access, Content content) const {
    return std::all_of(state_.memory.begin() + static_cast<std::ptrdiff_t>(access.begin),
                       state_.memory.begin() + static_cast<std::ptrdiff_t>(access.end),
                       [content](Content found) { return found == content; });
  }
  void fill(const Access& access, Content content) {
    std::fill(state_.memory.begin() + static_cast<std::ptrdiff_t>(access.begin),
              state_.memory.begin() + static_cast<std::ptrdiff_t>(access.end), content);
  }

  bool is_over() const { return std::popcount(state_.done) == static_cast<int>(ops_.size()); }
  bool end_is_right() const {
    return std::ranges::all_of(kept_, [this](const Access& k) { return holds(k, k.content); });
  }

  bool begin(std::uint32_t op) {
    if ((state_.begun & bit(op)) != 0 || (ops_[op].waits & ~state_.done) != 0) return false;
    state_.begun |= bit(op);
    for (const Access& read : ops_[op].reads) is_bad_ |= !holds(read, read.content);
    for (const Access& write : ops_[op].writes) fill(write, write.content + 1);
    return true;
  }

  bool end(std::uint32_t op) {
    if ((state_.begun & bit(op)) == 0 || (state_.done & bit(op)) != 0) return false;
    state_.done |= bit(op);
    for (const Access& read : ops_[op].inputs) is_bad_ |= !holds(read, read.content);
    for (const Access& write : ops_[op].writes) is_bad_ |= !holds(write, write.content + 1);
    for (const Access& write : ops_[op].writes) fill(write, write.content);
    return true;
  }

  bool step(std::uint32_t op) { return begin(op) || end(op); }

  // Runs what must be done before the op, and nothing else.
  void finish_all_before(OpId op) {
    std::uint32_t needed = ops_[op].waits;
    for (std::uint32_t before = op; before-- > 0;) {
      if ((needed & bit(before)) != 0) needed |= ops_[before].waits;
    }
    for (std::uint32_t before = 0; before < op; ++before) {
      if ((needed & bit(before)) == 0) continue;
      begin(before);
      end(before);
    }
  }

  std::vector<Op> ops_;
  std::size_t resident_begin_, residents_ = 0, blocks_ = 0;
  std::vector<Access> kept_;  // what must be there at the end
  State state_;
  bool is_bad_ = false;
};

}  // namespace skyline
