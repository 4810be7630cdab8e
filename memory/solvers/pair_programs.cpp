#include "memory/solvers/pair_programs.h"

#include <fmt/format.h>
#include <z3++.h>

#include <cmath>
#include <span>
#include <stdexcept>

#include "memory/planners/search.h"
#include "memory/planners/skyline/best_fit.h"
#include "memory/solvers/program_text.h"
#include "memory/solvers/programs.h"

namespace skyline {
namespace {

void require_at_most(std::string_view name, std::string_view what, std::uint64_t got,
                     std::uint64_t most) {
  if (got <= most) return;
  throw std::invalid_argument(fmt::format(
      "[{}] too large for this planner: {}, got {}, expected at most {}", name, what, got, most));
}

}  // namespace

PairModel::PairModel(const Packing& packing, std::string_view name, const PairModelLimits& limits)
    : packing_(packing),
      name_(name),
      packer_(packing),
      unit_(packing.unit_bytes()),
      bound_(packing.proved_bound) {
  require_at_most(name_, "blocks", packing.size(), limits.blocks);
  find_pairs();
  require_at_most(name_, "pairs of blocks in use at the same tick", pairs_.size(), limits.pairs);
  place_simply();
  count_in_at_most(limits.units);
}

void PairModel::count_in_at_most(std::uint64_t units) {
  if (peak_units() <= units) return;
  // unit_ is a multiple of the alignment, and so is this one.
  unit_ *= (peak_units() + units - 1) / units;
  rounds_ = true;
}

void PairModel::find_pairs() {
  const UsedTicks ticks(packing_);
  for (BlockIndex a = 0; a < packing_.size(); ++a) {
    for (BlockIndex b = a + 1; b < packing_.size(); ++b) {
      if (ticks.meet(a, b) && !(packing_.is_fixed(a) && packing_.is_fixed(b)))
        pairs_.emplace_back(a, b);
    }
  }
}

void PairModel::place_simply() {
  rule_ = "greedy-by-size";
  bool found = packer_.pack(sorted_by(packing_, SortKey::kSize), kMaxAddress, best_);
  if (packing_.fixed.empty()) {
    Placement best_fit;
    const std::uint64_t limit = found ? best_.peak : kMaxAddress;
    if (SkylinePacker(packing_).pack(sorted_by(packing_, SortKey::kLifetime), limit, best_fit)) {
      rule_ = "best-fit";
      best_ = std::move(best_fit);
      found = true;
    }
  }
  require_addressable(found, name_);
}

bool PairModel::settled(const PlanOptions& options) const {
  if (best_.peak == bound_) return true;
  return options.capacity && (best_.peak <= *options.capacity || bound_ > *options.capacity);
}

std::uint64_t PairModel::bytes_of_all() const {
  std::uint64_t top = 0;
  for (BlockIndex block = 0; block < blocks(); ++block) {
    if (is_fixed(block)) top = std::max(top, packing_.fixed[block] + packing_.bytes[block]);
  }
  for (BlockIndex block = 0; block < blocks(); ++block) {
    if (is_fixed(block)) continue;
    top = packing_.aligned(top, block);
    if (top > kMaxAddress - packing_.bytes[block]) return kMaxAddress;
    top += packing_.bytes[block];
  }
  return top;
}

std::optional<std::uint64_t> PairModel::units_to_ask_first(const PlanOptions& options) const {
  if (!options.capacity || to_units(*options.capacity) <= bound_units()) return {};
  return std::min(to_units(*options.capacity), peak_units() - 1);
}

void PairModel::offer_order(const std::vector<BlockIndex>& order) {
  Placement next;
  if (!packer_.pack(order, best_.peak, next)) return;
  best_ = std::move(next);
  by_solver_ = true;
}

void PairModel::prove(std::uint64_t units) {
  const std::uint64_t bytes = std::min(units * unit_, best_.peak);
  by_solver_ = by_solver_ || bytes > bound_;
  bound_ = std::max(bound_, bytes);
}

Plan PairModel::plan(const PlanOptions& options) {
  Plan plan = to_plan(packing_, std::move(best_), by_solver_ ? name_ : rule_, options);
  plan.proved_bound = bound_;
  plan.proved_optimal = plan.peak == bound_;
  return plan;
}

namespace {

// In PGMO's program an error of CBC's tolerance in a z_ij moves a block by less than a tenth of a
// unit: 2^20 × 1e-7. Larger peaks are counted in larger units, a millionth of them.
constexpr PairModelLimits kMipLimits{.blocks = 1000, .pairs = 20000, .units = 1 << 20};
// A node solves a linear program, which takes longer the more rows it has.
constexpr std::uint64_t kRowsWithoutTimeLimit = 20'000'000;
constexpr std::uint64_t kMostNodesWithoutTimeLimit = 20'000;

// PGMO's program in units, with columns x_0 … x_(n−1), u, and one z for each pair.
class PairProgram {
 public:
  // least ≤ u ≤ most, in units. `most` is PGMO's W: higher plans are not wanted.
  PairProgram(const PairModel& pairs, std::uint64_t least, std::uint64_t most)
      : pairs_(pairs), most_(static_cast<double>(most)) {
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      const bool fixed = pairs_.is_fixed(i);
      const double lower = fixed ? static_cast<double>(pairs_.fixed_units(i)) : 0;
      program_.add_column(lower, fixed ? lower : most_ - size(i));
    }
    const int u = program_.add_whole_column(static_cast<double>(least), most_, 1);
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      program_.add_row(Terms{{static_cast<int>(i), 1}, {u, -1}}, -size(i));
    }
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) align(i);
    for (const auto& [first, second] : pairs_.pairs()) separate(first, second);
  }

  IntegerProgram& solver() { return program_; }

  // Returns x0, u, z0_1 and so on.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) names.push_back(fmt::format("x{}", i));
    names.push_back("u");
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      if (pairs_.alignment_units(i) != 1) names.push_back(fmt::format("k{}", i));
    }
    for (const auto& [i, j] : pairs_.pairs()) names.push_back(fmt::format("z{}_{}", i, j));
    return names;
  }

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

  // Adds x_i = alignment × a whole number.
  void align(BlockIndex block) {
    const auto alignment = static_cast<double>(pairs_.alignment_units(block));
    if (alignment == 1) return;
    const int times = program_.add_whole_column(0, most_ / alignment);
    program_.add_equation(Terms{{static_cast<int>(block), 1}, {times, -alignment}}, 0);
  }

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

int nodes_without_time_limit(const IntegerProgram& program) {
  const auto rows = static_cast<std::uint64_t>(program.rows()) + 1;
  return static_cast<int>(std::min(kRowsWithoutTimeLimit / rows, kMostNodesWithoutTimeLimit));
}

// Asks for the best plan of at most `most` units, or for any.
SolverReport improve(PairModel& pairs, std::uint64_t most, bool any, const Deadline& deadline) {
  PairProgram program(pairs, pairs.bound_units(), most);
  IntegerProgram& solver = program.solver();
  const std::optional<double> seconds = deadline.seconds_left();
  if (seconds.value_or(1) <= 0) return {.solver = "CBC", .status = "time limit"};
  solver.limit(seconds, nodes_without_time_limit(solver));
  if (any) solver.stop_at_first_solution();
  solver.solve();
  // A known plan that fits is a solution, whatever CBC's tolerances say.
  if (solver.proved_infeasible() && most < pairs.peak_units()) pairs.prove(most + 1);
  const std::vector<double> offsets = program.offsets();
  if (!offsets.empty()) pairs.offer(offsets);
  if (!offsets.empty() && solver.proved_optimal() && !any) {
    pairs.prove(static_cast<std::uint64_t>(std::llround(solver.cost())));
  }
  return solver.report(pairs.unit_bytes());
}

}  // namespace

Plan mip(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds);
  const Packing packing(trace, options.alignment);
  PairModel pairs(packing, "mip", kMipLimits);
  const std::uint64_t all = pairs.units_of_all(kMipLimits.units);
  std::optional<SolverReport> report;
  const bool possible =
      pairs.bound_units() <= pairs.to_units(options.capacity.value_or(kMaxAddress));
  if (options.capacity && possible && pairs.blocks() > 0) {
    const std::uint64_t within = std::min(all, pairs.to_units(*options.capacity));
    report = improve(pairs, within, true, deadline.part(kShareForCapacity));
  }
  if (pairs.blocks() > 0 && possible && (!options.capacity || !pairs.settled(options))) {
    report = improve(pairs, all, false, deadline);
  }
  Plan plan = pairs.plan(options);
  plan.solver = std::move(report);
  return plan;
}

std::string mip_text(const Trace& trace, const PlanOptions& options, bool mps) {
  const Packing packing(trace, options.alignment);
  const PairModel pairs(packing, "mip", kMipLimits);
  const std::uint64_t all = pairs.units_of_all(kMipLimits.units);
  const std::uint64_t most =
      options.capacity ? std::min(all, pairs.to_units(*options.capacity)) : all;
  PairProgram program(pairs, 0, most);
  const std::string head = fmt::format(
      "PGMO's mixed-integer program (section 3.1) of {} blocks, of which {} pairs meet\n"
      "x: where a block begins; z: 1 if the first of two blocks lies above the second; u: peak\n"
      "numbers are in units of {} bytes; W = {}",
      pairs.blocks(), pairs.pairs().size(), pairs.unit_bytes(), most);
  return mps ? mps_text(program.solver(), program.names(), head)
             : lp_text(program.solver(), program.names(), head);
}

namespace {

constexpr PairModelLimits kSmtLimits{.blocks = 1000, .pairs = 20000};
// Z3's work for each bound tried without a time limit; about ten seconds.
constexpr unsigned kWorkWithoutTimeLimit = 4'000'000;

// Asks Z3 whether a plan exists under a bound.
class Question {
 public:
  explicit Question(const PairModel& pairs) : pairs_(pairs), offsets_(context_) {
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      offsets_.push_back(context_.int_const(("x" + std::to_string(i)).c_str()));
    }
  }

  z3::check_result ask(std::uint64_t peak_units, const Deadline& deadline) {
    z3::solver solver(context_, pairs_.has_alignments() ? "QF_LIA" : "QF_IDL");
    limit(solver, deadline);
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      const z3::expr lowest = number(pairs_.is_fixed(i) ? pairs_.fixed_units(i) : 0);
      solver.add(pairs_.is_fixed(i) ? x(i) == lowest : x(i) >= lowest);
      solver.add(x(i) <= number(peak_units) - number(pairs_.size_units(i)));
      if (const std::uint64_t alignment = pairs_.alignment_units(i); alignment > 1) {
        solver.add(x(i) ==
                   number(alignment) * context_.int_const(("times" + std::to_string(i)).c_str()));
      }
    }
    for (const auto& [i, j] : pairs_.pairs()) solver.add(below(i, j) || below(j, i));
    const std::stop_callback interrupt(
        deadline.stop != nullptr ? deadline.stop->get_token() : std::stop_token(),
        [this] { context_.interrupt(); });
    const z3::check_result answer = solver.check();
    if (answer == z3::sat) read(solver.get_model());
    return answer;
  }

  // Offsets from the last question answered with yes.
  const std::vector<std::uint64_t>& offsets() const { return found_; }

 private:
  void limit(z3::solver& solver, const Deadline& deadline) {
    z3::params parameters(context_);
    if (deadline.time) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline.time -
                                                                              SearchClock::now());
      constexpr std::int64_t kMost = 1 << 30;  // 12 days; Z3 counts in unsigned
      parameters.set("timeout",
                     static_cast<unsigned>(std::clamp<std::int64_t>(left.count(), 1, kMost)));
    } else {
      parameters.set("rlimit", kWorkWithoutTimeLimit);
    }
    solver.set(parameters);
  }

  void read(const z3::model& model) {
    found_.clear();
    for (const z3::expr& offset : offsets_) {
      found_.push_back(model.eval(offset, true).get_numeral_uint64());
    }
  }

  z3::expr x(BlockIndex block) { return offsets_[static_cast<int>(block)]; }
  z3::expr number(std::uint64_t units) { return context_.int_val(units); }
  z3::expr below(BlockIndex low, BlockIndex high) {
    return x(low) - x(high) <= -number(pairs_.size_units(low));
  }

  const PairModel& pairs_;
  z3::context context_;
  z3::expr_vector offsets_;
  std::vector<std::uint64_t> found_;
};

// Returns false if Z3 settled nothing.
bool settle(PairModel& pairs, Question& question, std::uint64_t asked, const Deadline& deadline) {
  const z3::check_result answer = question.ask(asked, deadline);
  if (answer == z3::unknown) return false;
  if (answer == z3::unsat) {
    pairs.prove(asked + 1);
    return true;
  }
  pairs.offer(question.offsets());
  return pairs.peak_units() <= asked;  // else the answer is wrong
}

void improve(PairModel& pairs, const PlanOptions& options, const Deadline& deadline) {
  if (pairs.settled(options) || passed(deadline)) return;
  if (const std::optional<std::uint64_t> within = pairs.units_to_ask_first(options)) {
    Question question(pairs);
    settle(pairs, question, *within, deadline.part(kShareForCapacity));
  }
  Question question(pairs);
  std::uint64_t asked = pairs.bound_units();
  while (!pairs.settled(options) && !passed(deadline) && settle(pairs, question, asked, deadline)) {
    const std::uint64_t lowest = pairs.bound_units();
    asked = lowest + (pairs.peak_units() - 1 - lowest) / 2;
  }
}

}  // namespace

Plan smt(const Trace& trace, const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  PairModel pairs(packing, "smt", kSmtLimits);
  improve(pairs, options, deadline_in(options.time_limit_seconds, options.stop));
  return pairs.plan(options);
}

}  // namespace skyline
