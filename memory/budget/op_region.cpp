#include "memory/budget/op_region.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "memory/errors.h"

namespace skyline {
namespace {

[[noreturn]] void refuse(std::size_t region, const std::string& problem) {
  throw GraphError({.source = fmt::format("regions, row {}", region), .problem = problem});
}

bool share_an_op(const OpRegion& one, const OpRegion& other) {
  return std::ranges::any_of(
      one.ops, [&](OpId op) { return std::ranges::find(other.ops, op) != other.ops.end(); });
}

class RegionRewriter {
 public:
  RegionRewriter(const BudgetProblem& whole, const std::vector<OpRegion>& regions,
                 const RoundsChoice& choice, bool shares)
      : whole_(whole),
        regions_(regions),
        choice_(choice),
        shares_(shares),
        region_of_(whole.graph.ops.size(), kNone),
        place_(whole.graph.ops.size(), kNone),
        writer_(whole.graph.values.size(), kNone),
        leaves_(whole.graph.values.size()) {
    if (!whole.engines.empty()) {
      throw GraphError({.source = "regions", .problem = "the step has smaller engines, too"});
    }
    made_.problem.graph.values = whole.graph.values;
    made_.problem.recomputes_each = whole.recomputes_each;
    made_.problem.recomputes_later = whole.recomputes_later;
    for (OpId op = 0; op < whole.graph.ops.size(); ++op) {
      for (const ValueId value : whole.graph.ops[op].outputs) writer_[value] = op;
    }
    for (std::size_t k = 0; k < regions.size(); ++k) {
      if (choice[k] > 0) add_region(k);
    }
    find_what_leaves();
  }

  ProblemInRounds run() {
    for (OpId op = 0; op < whole_.graph.ops.size(); ++op) {
      if (region_of_[op] == kNone || last_of(region_of_[op]) == op) waiting_.push_back(op);
      run_waiting();
    }
    if (!waiting_.empty()) {
      const auto in_a_region = [&](OpId op) { return region_of_[op] != kNone; };
      const auto op = std::ranges::find_if(waiting_, in_a_region);
      refuse(region_of_[op == waiting_.end() ? waiting_.front() : *op],
             "a path leaves the region and comes back");
    }
    for (const Recompute& recompute : whole_.recomputes) add_recompute(recompute);
    return std::move(made_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool in_forward(OpId op) const { return op < whole_.backward; }
  OpId last_of(std::size_t region) const { return std::ranges::max(regions_[region].ops); }
  const OpRegion::Rounds& rounds_of(std::size_t region) const {
    return regions_[region].rounds[choice_[region] - 1];
  }
  // The region in rounds that writes a value, if one does.
  std::size_t region_of_value(ValueId value) const {
    return writer_[value] == kNone ? kNone : region_of_[writer_[value]];
  }

  void add_region(std::size_t k) {
    const OpRegion& region = regions_[k];
    if (region.ops.empty()) refuse(k, "expected at least one op");
    if (choice_[k] > region.rounds.size()) refuse(k, "has no such rounds");
    for (const OpId op : region.ops) {
      if (op >= whole_.graph.ops.size()) refuse(k, fmt::format("got op {}, expected one", op));
      if (in_forward(op) != in_forward(region.ops.front())) {
        refuse(k, "expected ops of forward alone, or of backward");
      }
      if (region_of_[op] != kNone) refuse(k, fmt::format("op {} is in another region, too", op));
      region_of_[op] = k;
      check_values(k, whole_.graph.ops[op].outputs);
    }
    check_values(k, region.inputs);
    for (const ValueId value : region.inputs) {
      if (region_of_value(value) == k) refuse(k, fmt::format("writes its input {}", value));
    }
  }

  void check_values(std::size_t k, const std::vector<ValueId>& values) const {
    for (const ValueId value : values) {
      if (value >= writer_.size() || whole_.graph.values[value].storage != value) {
        refuse(k, fmt::format("got value {}, expected one that owns bytes", value));
      }
    }
  }

  void find_what_leaves() {
    const auto read = [&](const std::vector<ValueId>& inputs) {
      for (const ValueId input : inputs) leaves_[input] = true;
    };
    for (OpId op = 0; op < whole_.graph.ops.size(); ++op) {
      if (region_of_[op] == kNone) read(whole_.graph.ops[op].inputs);
    }
    for (std::size_t k = 0; k < regions_.size(); ++k) {
      if (choice_[k] > 0) read(regions_[k].inputs);
    }
    for (ValueId value = 0; value < leaves_.size(); ++value) {
      const StepValue& of = whole_.graph.values[value];
      if (of.kept || of.resident) leaves_[value] = true;
    }
  }

  // Runs what waited for an op in rounds, in the program's sequence.
  void run_waiting() {
    for (std::size_t k = 0; k < waiting_.size();) {
      const OpId op = waiting_[k];
      StepOp step = region_of_[op] == kNone ? whole_.graph.ops[op] : op_in_rounds(region_of_[op]);
      if (!has_run_before(step)) {
        ++k;
        continue;
      }
      add_op(op, std::move(step));
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(k));
      k = 0;
    }
  }

  std::size_t place_of(OpId op) const {
    return place_[region_of_[op] == kNone ? op : last_of(region_of_[op])];
  }

  bool has_run_before(const StepOp& op) const {
    const auto has_run = [&](OpId before) { return place_of(before) != kNone; };
    const auto is_written = [&](ValueId input) {
      const ValueId owner = whole_.graph.values[input].storage;
      return writer_[owner] == kNone || has_run(static_cast<OpId>(writer_[owner]));
    };
    return std::ranges::all_of(op.inputs, is_written) && std::ranges::all_of(op.after, has_run);
  }

  StepOp op_in_rounds(std::size_t region) const {
    const OpRegion& of = regions_[region];
    StepOp op{.name = "rounds",
              .layer = whole_.graph.ops[of.ops.front()].layer,
              .phase = whole_.graph.ops[of.ops.front()].phase,
              .inputs = of.inputs,
              .workspace_bytes = rounds_of(region).workspace_bytes,
              .rounds = rounds_of(region).slices};
    for (const OpId replaced : of.ops) {
      const StepOp& whole = whole_.graph.ops[replaced];
      std::ranges::copy_if(whole.outputs, std::back_inserter(op.outputs),
                           [&](ValueId value) { return leaves_[value] != 0; });
      std::ranges::copy_if(whole.after, std::back_inserter(op.after),
                           [&](OpId before) { return region_of_[before] != region; });
    }
    for (const auto& [input, output] : of.in_place) {
      const auto from = std::ranges::find(op.inputs, input);
      const auto to = std::ranges::find(op.outputs, output);
      if (from == op.inputs.end() || to == op.outputs.end()) continue;
      op.in_place.push_back(
          {static_cast<int>(from - op.inputs.begin()), static_cast<int>(to - op.outputs.begin())});
    }
    return op;
  }

  void add_op(OpId op, StepOp step) {
    BudgetProblem& problem = made_.problem;
    place_[op] = problem.graph.ops.size();
    for (OpId& before : step.after) before = static_cast<OpId>(place_of(before));
    problem.graph.ops.push_back(std::move(step));
    problem.seconds.push_back(region_of_[op] == kNone ? whole_.seconds[op]
                                                      : rounds_of(region_of_[op]).seconds);
    problem.backward += in_forward(op);
    made_.ops.push_back(op);
  }

  // Values inside are not recomputed, nor is what only they could give.
  void add_recompute(const Recompute& recompute) {
    const std::size_t region = region_of_value(recompute.value);
    const auto is_there = [&](ValueId value) {
      return region_of_value(value) == kNone || leaves_[value];
    };
    if (!is_there(recompute.value)) return;
    if (region == kNone) {
      if (std::ranges::all_of(recompute.inputs, is_there)) {
        made_.problem.recomputes.push_back(recompute);
      }
      return;
    }
    const StepOp op = op_in_rounds(region);
    Recompute again{.value = recompute.value,
                    .inputs = op.inputs,
                    .workspace_bytes = op.workspace_bytes,
                    .seconds = rounds_of(region).seconds};
    if (shares_) again.seconds /= static_cast<double>(op.outputs.size());
    for (const ValueId other : op.outputs) {
      const StepValue& value = whole_.graph.values[other];
      if (!shares_ && other != recompute.value && !value.resident) {
        again.workspace_bytes += value.bytes;
      }
    }
    for (const auto& [input, output] : op.in_place) {
      if (op.outputs[static_cast<std::size_t>(output)] == recompute.value) {
        again.in_place.push_back({input, 0});
      }
    }
    made_.problem.recomputes.push_back(std::move(again));
  }

  const BudgetProblem& whole_;
  const std::vector<OpRegion>& regions_;
  const RoundsChoice& choice_;
  const bool shares_;
  std::vector<std::size_t> region_of_;  // in rounds, by op
  std::vector<std::size_t> place_;      // in the made step, by op that has run
  std::vector<std::size_t> writer_;     // by value
  std::vector<char> leaves_;            // by value: read or held outside of its region
  std::vector<OpId> waiting_;
  ProblemInRounds made_;
};

}  // namespace

std::vector<RoundsChoice> rounds_choices(const std::vector<OpRegion>& regions, std::size_t most) {
  std::vector<RoundsChoice> choices = {RoundsChoice(regions.size())};
  for (std::size_t k = 0; k < regions.size(); ++k) {
    const std::size_t before = choices.size();
    for (std::size_t rounds = 1; rounds <= regions[k].rounds.size(); ++rounds) {
      for (std::size_t one = 0; one < before; ++one) {
        const auto meets = [&](std::size_t other) {
          return choices[one][other] > 0 && share_an_op(regions[other], regions[k]);
        };
        if (std::ranges::any_of(std::views::iota(std::size_t{0}, k), meets)) continue;
        choices.push_back(choices[one]);
        choices.back()[k] = rounds;
        if (choices.size() <= most) continue;
        throw GraphError(
            {.source = "regions", .problem = fmt::format("they give more than {} steps", most)});
      }
    }
  }
  return choices;
}

ProblemInRounds in_rounds(const BudgetProblem& whole, const std::vector<OpRegion>& regions,
                          const RoundsChoice& choice, bool shares) {
  return RegionRewriter(whole, regions, choice, shares).run();
}

BudgetProblem in_any_rounds(BudgetProblem whole, const std::vector<std::uint32_t>& groups) {
  std::vector<StepValue>& values = whole.graph.values;
  std::vector<std::uint32_t> group_of(values.size(), kNoGroup);
  std::vector<char> leaves(values.size());
  for (OpId op = 0; op < groups.size(); ++op) {
    for (const ValueId output : whole.graph.ops[op].outputs) {
      if (values[output].storage == output) group_of[output] = groups[op];
    }
    for (const ValueId input : whole.graph.ops[op].inputs) {
      const ValueId owner = values[input].storage;
      leaves[owner] |= group_of[owner] != groups[op];
    }
    if (groups[op] != kNoGroup) whole.graph.ops[op].workspace_bytes = 0;
  }
  for (const StepValue& value : values) leaves[value.storage] |= value.kept || value.resident;
  for (ValueId value = 0; value < values.size(); ++value) {
    if (group_of[value] != kNoGroup && !leaves[value]) values[value].bytes = 0;
  }
  for (Recompute& recompute : whole.recomputes) {
    if (group_of[recompute.value] == kNoGroup) continue;
    recompute.workspace_bytes = 0;
    recompute.in_place.clear();
  }
  for (SmallerEngine& engine : whole.engines) {
    std::erase_if(engine.uses, [&](const SmallerEngine::Use& use) {
      return use.op.is_recompute ? group_of[whole.recomputes[use.op.index].value] != kNoGroup
                                 : groups[use.op.index] != kNoGroup;
    });
  }
  return whole;
}

}  // namespace skyline
