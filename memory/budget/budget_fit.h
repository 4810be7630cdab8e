#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/budget/budget_walk.h"

namespace skyline {

// Fits choices into fewer bytes, move by move. A move changes a value that is alive at the peak:
// recomputes it once, for each reader, or once along with all that backward would not keep for its
// sake; or keeps it instead. Counts the work, and adds every step that it tries to a front.
class BudgetFit {
 public:
  // The problem and the front must outlive it.
  BudgetFit(const BudgetProblem& problem, BudgetFront& front);

  // Moves lower a sum over all ops: of (bytes beyond the budget)², or of their 8th power, which
  // nearly is the peak.
  enum class Measure { kSquares, kPeak };

  // Whether smaller engines compute where `bytes` demand it, or values make room for the others.
  enum class Engines { kFitting, kOwn };

  // Adds the step of a choice, with no bytes to fit into.
  void add(const RecomputeChoice& choice);
  // Returns a choice that fits into `bytes`, near `start`; empty if no move helps or the seconds
  // reach `most_seconds`. Repeats the move that lowers the measure most per second.
  RecomputeChoice fit(RecomputeChoice start, std::uint64_t bytes, double most_seconds,
                      Measure measure, Engines engines = Engines::kFitting);
  // Takes back recomputes that the budget does not need, the dearest first. Returns the extra
  // seconds.
  double take_back(RecomputeChoice& choice, std::uint64_t bytes);

  // Changes one to three values at random, `steps` times (simulated annealing: Kirkpatrick et al.
  // 1983). It keeps a change that costs seconds or exceeds `bytes` with a probability that falls
  // with the excess and with every change. The front gets all that it finds.
  void wander(RecomputeChoice choice, std::uint64_t bytes, std::uint32_t steps);

  std::uint64_t ops_run() const { return ops_run_; }
  double seconds() const { return seconds_; }  // of the step that recomputes nothing

 private:
  struct Move {
    std::uint32_t recompute = 0;
    Recompute::Times times = Recompute::kNever;
    bool with_inputs = false;

    std::size_t number() const { return 8u * recompute + 4u * with_inputs + times; }
  };
  using Worth = std::vector<double>;  // by number of a move, when last tried; not a number: never

  BudgetWalk::Result run(const RecomputeChoice& choice);
  double beyond(std::uint64_t bytes);
  double beyond_with_less(double less) const;
  double most_worth(std::uint32_t recompute, double beyond_now) const;
  std::vector<Move> moves(const RecomputeChoice& choice, std::size_t place) const;
  RecomputeChoice after(RecomputeChoice choice, const Move& move) const;
  void add_with_inputs(RecomputeChoice& choice, std::uint32_t recompute) const;
  bool make_best_move(RecomputeChoice& choice, std::uint64_t bytes, Worth& worth);
  std::uint32_t random_below(std::size_t count);
  std::uint32_t random_recompute();
  void find_gaps();
  bool may_be_kept(std::uint32_t recompute, std::uint64_t bytes) const;

  const BudgetProblem& problem_;
  BudgetFront& front_;
  BudgetWalk walk_;
  RecomputeSequence sequence_;
  std::vector<char> read_in_backward_;  // by value that owns bytes
  std::vector<std::uint32_t> dearest_;  // recomputes, from the most seconds to the fewest
  Measure measure_ = Measure::kPeak;    // of the running fit
  double scale_ = 1;                    // bytes of its budget, and one
  std::vector<double> beyond_;          // the last run's bytes beyond it, in parts of that
  std::vector<std::uint64_t> gaps_;     // bytes, by recompute
  BudgetWalk::Result now_;              // of the last run
  std::uint64_t engine_bytes_ = 0;      // into which smaller engines make ops fit
  std::uint64_t ops_run_ = 0;
  double seconds_ = 0;   // of the step that recomputes nothing
  std::mt19937 random_;  // the same numbers on every machine
};

}  // namespace skyline
