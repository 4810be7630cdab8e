#include "tests/memory/budget/checkmate_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "memory/errors.h"
#include "memory/solvers/programs.h"

namespace skyline {
namespace {

constexpr std::size_t kMostOps = 40;
// CBC's integer tolerance is 1e-7, so that a moment's bytes are off by far less than a unit.
constexpr std::uint64_t kMostUnits = 1 << 16;
constexpr int kMostNodes = 50'000;
constexpr int kNoColumn = -1;

using Terms = IntegerProgram::Terms;

class CheckmateModel {
 public:
  CheckmateModel(const BudgetProblem& problem, std::uint64_t bytes,
                 const std::vector<OpRegion>& regions)
      : problem_(problem), regions_(regions), replaced_(problem.graph.ops.size()) {
    find_unit();
    for (const OpRegion& region : regions) add_rounds(region);
    add_moments();
    add_columns();
    for (std::size_t moment = 0; moment < moments_.size(); ++moment) {
      add_reads(moment);
      add_sources(moment);
      bound_bytes(moment, bytes);
    }
  }

  CheckmateAnswer solve() {
    program_.limit({}, kMostNodes);
    program_.solve();
    if (program_.proved_infeasible() || program_.solution().empty()) {
      return {std::numeric_limits<double>::infinity(), program_.proved_infeasible()};
    }
    return {program_.cost(), program_.proved_optimal()};
  }

 private:
  // When an op may run: each recompute before each op of backward, and an op in rounds in place of
  // the last op of its region. It runs `always` times, plus the terms.
  struct Moment {
    StepOp op;
    double always = 1;
    Terms runs = {};
    std::vector<int> alive = {};  // by value
  };
  // An op in rounds that a column chooses.
  struct Rounds {
    const OpRegion* region;
    std::uint64_t workspace_bytes;
    double seconds;
    int chosen;
  };

  ValueId owner(ValueId value) const { return problem_.graph.values[value].storage; }
  bool counted(ValueId value) const {
    return owner(value) == value && !problem_.graph.values[value].resident;
  }
  std::uint64_t bytes_of(ValueId value) const { return problem_.graph.values[value].bytes; }
  double units(std::uint64_t bytes) const { return static_cast<double>(bytes / unit_); }

  void find_unit() {
    std::uint64_t sum = 0, divisor = 0;
    const auto count = [&](std::uint64_t bytes) {
      sum += bytes;
      divisor = std::gcd(divisor, bytes);
    };
    for (const StepValue& value : problem_.graph.values) count(value.resident ? 0 : value.bytes);
    for (const StepOp& op : problem_.graph.ops) count(op.workspace_bytes);
    for (const Recompute& recompute : problem_.recomputes) count(recompute.workspace_bytes);
    for (const OpRegion& region : regions_) {
      for (const OpRegion::Rounds& rounds : region.rounds) count(rounds.workspace_bytes);
    }
    unit_ = std::max<std::uint64_t>(divisor, 1);
    if (problem_.graph.ops.size() <= kMostOps && sum / unit_ <= kMostUnits) return;
    throw GraphError(
        {.source = "checkmate",
         .problem = fmt::format("the problem is too large: {} ops and {} units, "
                                "expected at most {} and {}",
                                problem_.graph.ops.size(), sum / unit_, kMostOps, kMostUnits)});
  }

  // One column for each number of rounds, of which at most one is 1.
  void add_rounds(const OpRegion& region) {
    double whole = 0;
    for (const OpId op : region.ops) whole += problem_.seconds[op];
    for (const OpRegion::Rounds& rounds : region.rounds) {
      const int chosen = program_.add_whole_column(0, 1, rounds.seconds - whole);
      rounds_.push_back({&region, rounds.workspace_bytes, rounds.seconds, chosen});
      for (const OpId op : region.ops) replaced_[op].push_back({chosen, -1});
    }
    const Terms& chosen = replaced_[region.ops.front()];
    Terms sum;
    for (const auto& [column, minus] : chosen) sum.push_back({column, 1});
    program_.add_row(sum, 1);
  }

  // The op in rounds writes what others, or the end of the step, read of the region's ops.
  StepOp op_of(const Rounds& rounds) const {
    const auto& ops = rounds.region->ops;
    StepOp op{.name = "rounds", .inputs = rounds.region->inputs};
    op.workspace_bytes = rounds.workspace_bytes;
    for (const OpId replaced : ops) {
      for (const ValueId output : problem_.graph.ops[replaced].outputs) {
        bool leaves = problem_.graph.values[output].kept;
        for (OpId reader = 0; reader < problem_.graph.ops.size(); ++reader) {
          const std::vector<ValueId>& inputs = problem_.graph.ops[reader].inputs;
          leaves |= std::ranges::find(ops, reader) == ops.end() &&
                    std::ranges::find(inputs, output) != inputs.end();
        }
        if (leaves) op.outputs.push_back(output);
      }
    }
    for (const auto& [input, output] : rounds.region->in_place) {
      const auto from = std::ranges::find(op.inputs, input) - op.inputs.begin();
      const auto to = std::ranges::find(op.outputs, output);
      if (to == op.outputs.end()) continue;
      op.in_place.push_back({static_cast<int>(from), static_cast<int>(to - op.outputs.begin())});
    }
    return op;
  }

  OpId maker_of(ValueId value) const {
    const auto writes = [&](const StepOp& op) {
      return std::ranges::find(op.outputs, value) != op.outputs.end();
    };
    const auto& ops = problem_.graph.ops;
    return static_cast<OpId>(std::ranges::find_if(ops, writes) - ops.begin());
  }

  // A value is not recomputed by its own op if that ran in rounds; the op in rounds recomputes all
  // that leaves its region.
  void add_recomputes() {
    for (const Recompute& recompute : problem_.recomputes) {
      const int run = program_.add_whole_column(0, 1, recompute.seconds);
      moments_.push_back({recompute.op(problem_.graph), 0, {{run, 1}}});
      const OpId maker = maker_of(recompute.value);
      Terms limit = {{run, 1}};
      for (const auto& [chosen, minus] : replaced_[maker]) limit.push_back({chosen, 1});
      program_.add_row(limit, 1);
      for (const Rounds& rounds : rounds_) {
        if (std::ranges::max(rounds.region->ops) != maker) continue;
        const int again = program_.add_whole_column(0, 1, rounds.seconds);
        moments_.push_back({op_of(rounds), 0, {{again, 1}}});
        program_.add_row(Terms{{again, 1}, {rounds.chosen, -1}}, 0);
      }
    }
  }

  void add_moments() {
    for (OpId op = 0; op < problem_.graph.ops.size(); ++op) {
      if (op >= problem_.backward) add_recomputes();
      moments_.push_back({problem_.graph.ops[op], 1, replaced_[op]});
      for (const Rounds& rounds : rounds_) {
        if (std::ranges::max(rounds.region->ops) != op) continue;
        moments_.push_back({op_of(rounds), 0, {{rounds.chosen, 1}}});
      }
    }
  }

  // A value has columns from the moment after its op on. What is kept stays from the moment on at
  // which it must have been written.
  void add_columns() {
    std::vector<char> written(problem_.graph.values.size()), sure(written.size());
    std::vector<char> kept(problem_.graph.values.size());
    for (const StepValue& value : problem_.graph.values) {
      if (value.kept) kept[value.storage] = true;
    }
    for (Moment& moment : moments_) {
      for (ValueId value = 0; value < written.size(); ++value) {
        const bool stays = kept[value] && sure[value];
        moment.alive.push_back(written[value] ? program_.add_column(stays, 1) : kNoColumn);
      }
      for (const ValueId output : moment.op.outputs) {
        if (!counted(output)) continue;
        sure[output] = written[output] || moment.runs.empty();
        written[output] = true;
      }
    }
  }

  // Bounds a column by how often an op runs, and by the rows' other terms.
  void add_row_by_runs(const Moment& moment, Terms terms) {
    for (const auto& [column, factor] : moment.runs) terms.push_back({column, -factor});
    program_.add_row(terms, moment.always);
  }

  // An op that runs has its inputs in memory.
  void add_reads(std::size_t at) {
    const Moment& moment = moments_[at];
    for (const ValueId input : moment.op.inputs) {
      const int alive = moment.alive[owner(input)];
      if (alive == kNoColumn) continue;
      Terms terms = moment.runs;
      terms.push_back({alive, -1});
      program_.add_row(terms, -moment.always);
    }
  }

  // What is in memory was so before, or has just been made.
  void add_sources(std::size_t at) {
    if (at == 0) return;
    const Moment& before = moments_[at - 1];
    for (ValueId value = 0; value < before.alive.size(); ++value) {
      const bool just_made = std::ranges::find(before.op.outputs, value) != before.op.outputs.end();
      if (moments_[at].alive[value] == kNoColumn || (just_made && before.runs.empty())) continue;
      Terms terms = {{moments_[at].alive[value], 1}};
      if (before.alive[value] != kNoColumn) terms.push_back({before.alive[value], -1});
      if (just_made) {
        add_row_by_runs(before, terms);
      } else {
        program_.add_row(terms, 0);
      }
    }
  }

  void bound_bytes(std::size_t at, std::uint64_t bytes) {
    const Moment& moment = moments_[at];
    Terms terms;
    for (ValueId value = 0; value < moment.alive.size(); ++value) {
      if (moment.alive[value] != kNoColumn) {
        terms.push_back({moment.alive[value], units(bytes_of(value))});
      }
    }
    std::uint64_t own = moment.op.workspace_bytes;
    for (const ValueId output : moment.op.outputs) own += counted(output) ? bytes_of(output) : 0;
    for (const auto& [column, factor] : moment.runs) terms.push_back({column, factor * units(own)});
    add_pairs(at, terms);
    program_.add_row(terms, units(bytes) - moment.always * units(own));
  }

  // A pair saves the output's bytes if the input is not in memory at the next moment. Each input
  // and each output takes part in one pair.
  void add_pairs(std::size_t at, Terms& bytes) {
    const StepOp& op = moments_[at].op;
    std::vector<std::pair<ValueId, Terms>> used;
    const auto use = [&](ValueId value, int pair) {
      const auto known = std::ranges::find(used, value, &std::pair<ValueId, Terms>::first);
      Terms& terms = known == used.end() ? used.emplace_back(value, Terms()).second : known->second;
      terms.push_back({pair, 1});
    };
    for (const InPlacePair& pair : op.in_place) {
      const ValueId input = owner(op.inputs[static_cast<std::size_t>(pair.input)]);
      const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
      const auto is_input = [&](ValueId read) { return owner(read) == input; };
      if (!counted(input) || !counted(output) || bytes_of(input) != bytes_of(output)) continue;
      if (std::ranges::count_if(op.inputs, is_input) > 1) continue;
      const int saved = program_.add_column(0, 1);
      bytes.push_back({saved, -units(bytes_of(output))});
      if (!moments_[at].runs.empty()) add_row_by_runs(moments_[at], {{saved, 1}});
      if (at + 1 < moments_.size() && moments_[at + 1].alive[input] != kNoColumn) {
        program_.add_row(Terms{{saved, 1}, {moments_[at + 1].alive[input], 1}}, 1);
      }
      use(input, saved);
      use(output, saved);
    }
    for (const auto& [value, terms] : used) program_.add_row(terms, 1);
  }

  const BudgetProblem& problem_;
  const std::vector<OpRegion>& regions_;
  std::vector<Terms> replaced_;  // by op: minus 1 for each op in rounds that replaces it
  std::vector<Rounds> rounds_;
  std::uint64_t unit_ = 1;
  IntegerProgram program_;
  std::vector<Moment> moments_;
};

}  // namespace

CheckmateAnswer checkmate_program(const BudgetProblem& problem, std::uint64_t bytes,
                                  const std::vector<OpRegion>& regions) {
  return CheckmateModel(problem, bytes, regions).solve();
}

}  // namespace skyline
