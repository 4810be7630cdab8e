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
  CheckmateModel(const BudgetProblem& problem, std::uint64_t bytes) : problem_(problem) {
    find_unit();
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
  // When an op may run: each recompute before each op of backward.
  struct Moment {
    StepOp op;
    bool is_recompute = false;
    int run = kNoColumn;     // of a recompute
    std::vector<int> alive;  // by value
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
    unit_ = std::max<std::uint64_t>(divisor, 1);
    if (problem_.graph.ops.size() <= kMostOps && sum / unit_ <= kMostUnits) return;
    throw GraphError(
        {.source = "checkmate",
         .problem = fmt::format("the problem is too large: {} ops and {} units, "
                                "expected at most {} and {}",
                                problem_.graph.ops.size(), sum / unit_, kMostOps, kMostUnits)});
  }

  void add_moments() {
    for (OpId op = 0; op < problem_.graph.ops.size(); ++op) {
      if (op >= problem_.backward) {
        for (const Recompute& recompute : problem_.recomputes) {
          const int run = program_.add_whole_column(0, 1, recompute.seconds);
          moments_.push_back({recompute.op(problem_.graph), true, run, {}});
        }
      }
      moments_.push_back({problem_.graph.ops[op], false, kNoColumn, {}});
    }
  }

  // A value has columns from the moment after its op on.
  void add_columns() {
    std::vector<char> written(problem_.graph.values.size());
    std::vector<char> kept(problem_.graph.values.size());
    for (const StepValue& value : problem_.graph.values) {
      if (value.kept) kept[value.storage] = true;
    }
    for (Moment& moment : moments_) {
      for (ValueId value = 0; value < written.size(); ++value) {
        moment.alive.push_back(written[value] ? program_.add_column(kept[value], 1) : kNoColumn);
      }
      for (const ValueId output : moment.op.outputs) {
        if (counted(output)) written[output] = true;
      }
    }
  }

  // An op that runs has its inputs in memory.
  void add_reads(std::size_t at) {
    const Moment& moment = moments_[at];
    for (const ValueId input : moment.op.inputs) {
      const int alive = moment.alive[owner(input)];
      if (alive == kNoColumn) continue;
      if (moment.is_recompute) {
        program_.add_row(Terms{{moment.run, 1}, {alive, -1}}, 0);
      } else {
        program_.add_equation(Terms{{alive, 1}}, 1);
      }
    }
  }

  // What is in memory was so before, or has just been made.
  void add_sources(std::size_t at) {
    if (at == 0) return;
    const Moment& before = moments_[at - 1];
    for (ValueId value = 0; value < before.alive.size(); ++value) {
      if (before.alive[value] == kNoColumn) continue;
      Terms terms = {{moments_[at].alive[value], 1}, {before.alive[value], -1}};
      if (before.is_recompute && before.op.outputs.front() == value)
        terms.push_back({before.run, -1});
      program_.add_row(terms, 0);
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
    if (moment.is_recompute) terms.push_back({moment.run, units(own)});
    add_pairs(at, terms);
    program_.add_row(terms, units(bytes) - (moment.is_recompute ? 0 : units(own)));
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
      if (moments_[at].is_recompute) program_.add_row(Terms{{saved, 1}, {moments_[at].run, -1}}, 0);
      if (at + 1 < moments_.size()) {
        program_.add_row(Terms{{saved, 1}, {moments_[at + 1].alive[input], 1}}, 1);
      }
      use(input, saved);
      use(output, saved);
    }
    for (const auto& [value, terms] : used) program_.add_row(terms, 1);
  }

  const BudgetProblem& problem_;
  std::uint64_t unit_ = 1;
  IntegerProgram program_;
  std::vector<Moment> moments_;
};

}  // namespace

CheckmateAnswer checkmate_program(const BudgetProblem& problem, std::uint64_t bytes) {
  return CheckmateModel(problem, bytes).solve();
}

}  // namespace skyline
