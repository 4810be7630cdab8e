#include "memory/planners/solvers/mip.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "memory/planners/search_budget.h"
#include "memory/planners/solvers/pair_model.h"
#include "memory/solvers/integer_program.h"

namespace skyline {
namespace {

// In PGMO's program an error of CBC's tolerance in a z_ij moves a block by less than a tenth of a
// unit: 2^20 × 1e-7. Larger peaks are counted in larger units, a millionth of them.
constexpr PairModelLimits kLimits{.blocks = 1000, .pairs = 20000, .units = 1 << 20};
constexpr int kNodesWithoutTimeLimit = 20000;

// PGMO's program in units, with columns x_0 … x_(n−1), u, and one z for each pair.
class Program {
 public:
  // `most` is PGMO's W: higher plans are not wanted.
  Program(const PairModel& pairs, std::uint64_t most)
      : pairs_(pairs), most_(static_cast<double>(most)) {
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      const bool fixed = pairs_.is_fixed(i);
      const double lower = fixed ? static_cast<double>(pairs_.fixed_units(i)) : 0;
      program_.add_column(lower, fixed ? lower : most_ - size(i));
    }
    const int u = program_.add_whole_column(static_cast<double>(pairs_.bound_units()), most_, 1);
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      program_.add_row(Terms{{static_cast<int>(i), 1}, {u, -1}}, -size(i));
    }
    for (const auto& [first, second] : pairs_.pairs()) separate(first, second);
  }

  IntegerProgram& solver() { return program_; }

  // Returns the offsets found; empty if there is no solution.
  std::vector<double> offsets() const {
    const std::span<const double> solution = program_.solution();
    if (solution.empty()) return {};
    std::vector<double> offsets(pairs_.blocks());
    std::copy_n(solution.begin(), offsets.size(), offsets.begin());
    return offsets;
  }

 private:
  using Terms = IntegerProgram::Terms;

  void separate(BlockIndex first, BlockIndex second) {
    const auto i = static_cast<int>(first), j = static_cast<int>(second);
    const int z = program_.add_whole_column(0, 1);
    program_.add_row(Terms{{i, 1}, {j, -1}, {z, -most_}}, -size(first));
    program_.add_row(Terms{{i, -1}, {j, 1}, {z, most_}}, most_ - size(second));
  }

  double size(BlockIndex block) const { return static_cast<double>(pairs_.size_units(block)); }

  const PairModel& pairs_;
  const double most_;
  IntegerProgram program_;
};

// Asks for the best plan of at most `most` units, or for any.
void improve(PairModel& pairs, std::uint64_t most, bool any, const Deadline& deadline) {
  Program program(pairs, most);
  IntegerProgram& solver = program.solver();
  solver.limit(deadline.seconds_left(), kNodesWithoutTimeLimit);
  if (any) solver.stop_at_first_solution();
  solver.solve();
  if (solver.proved_infeasible()) return pairs.prove(most + 1);
  const std::vector<double> offsets = program.offsets();
  if (offsets.empty()) return;
  pairs.offer(offsets);
  if (solver.proved_optimal() && !any) {
    pairs.prove(static_cast<std::uint64_t>(std::llround(solver.cost())));
  }
}

}  // namespace

Plan mip(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds);
  const Packing packing(trace, options.alignment);
  PairModel pairs(packing, "mip", kLimits);
  const std::optional<std::uint64_t> within = pairs.units_to_ask_first(options);
  if (within && !pairs.settled(options) && !passed(deadline)) {
    improve(pairs, *within, true, deadline.part(kShareForCapacity));
  }
  if (!pairs.settled(options) && !passed(deadline)) {
    improve(pairs, pairs.peak_units() - 1, false, deadline);
  }
  return pairs.plan(options);
}

}  // namespace skyline
