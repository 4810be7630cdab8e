#include "memory/planners/solvers/smt.h"

#include <z3++.h>

#include <algorithm>

#include "memory/planners/search_budget.h"
#include "memory/planners/solvers/pair_model.h"

namespace skyline {
namespace {

constexpr PairModelLimits kLimits{.blocks = 1000, .pairs = 20000};
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
    z3::solver solver(context_, "QF_IDL");
    limit(solver, deadline);
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      const z3::expr lowest = number(pairs_.is_fixed(i) ? pairs_.fixed_units(i) : 0);
      solver.add(pairs_.is_fixed(i) ? x(i) == lowest : x(i) >= lowest);
      solver.add(x(i) <= number(peak_units) - number(pairs_.size_units(i)));
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
  PairModel pairs(packing, "smt", kLimits);
  improve(pairs, options, deadline_in(options.time_limit_seconds, options.stop));
  return pairs.plan(options);
}

}  // namespace skyline
