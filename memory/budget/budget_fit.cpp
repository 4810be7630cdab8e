#include "memory/budget/budget_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace skyline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kAllBytes = std::numeric_limits<std::uint64_t>::max();

// Ops that walks may run for one fit. A hopeless one takes all of them.
constexpr std::uint64_t kMostOps = 2'000'000;

// For wander(), tried on googlenet and vgg16: heats are shares of a step.
constexpr double kFirstHeat = 1e-2, kLastHeat = 1e-4;
constexpr double kCostOfBytes = 1;  // shares of a step, for each share of the bytes beyond
constexpr std::array<std::uint32_t, 6> kChanges = {1, 1, 1, 2, 2, 3};

// A move is worth what it lowers a second; one that costs nothing comes first.
double worth_of(double lowered, double seconds) {
  constexpr double kLeastSeconds = 1e-12;
  return lowered / std::max(seconds, kLeastSeconds);
}

}  // namespace

BudgetFit::BudgetFit(const BudgetProblem& problem, BudgetFront& front)
    : problem_(problem),
      front_(front),
      walk_(problem),
      sequence_(problem),
      read_in_backward_(problem.graph.values.size()),
      dearest_(problem.recomputes.size()),
      seconds_(std::accumulate(problem.seconds.begin(), problem.seconds.end(), 0.0)) {
  for (OpId op = problem.backward; op < problem.graph.ops.size(); ++op) {
    for (const ValueId input : problem.graph.ops[op].inputs) {
      read_in_backward_[problem.graph.values[input].storage] = true;
    }
  }
  std::iota(dearest_.begin(), dearest_.end(), 0u);
  std::ranges::stable_sort(dearest_, std::ranges::greater(),
                           [&](std::uint32_t k) { return problem.recomputes[k].seconds; });
}

BudgetWalk::Result BudgetFit::run(const RecomputeChoice& choice) {
  now_ = walk_.run(choice, engine_bytes_);
  ops_run_ += walk_.bytes().size();
  front_.add(choice, now_.peak, now_.extra_seconds, walk_.smaller());
  return now_;
}

void BudgetFit::add(const RecomputeChoice& choice) {
  engine_bytes_ = kAllBytes;
  run(choice);
}

double BudgetFit::beyond(std::uint64_t bytes) {
  beyond_.clear();
  for (const std::uint64_t at : walk_.bytes()) {
    if (at > bytes) beyond_.push_back(static_cast<double>(at - bytes) / scale_);
  }
  return beyond_with_less(0);
}

double BudgetFit::beyond_with_less(double less) const {
  double sum = 0;
  for (const double share : beyond_) {
    const double square = std::max(share - less, 0.0) * std::max(share - less, 0.0);
    sum += measure_ == Measure::kSquares ? square : square * square * square * square;
  }
  return sum;
}

// Takes the value out of all ops, for the seconds of one recompute: more than most moves achieve.
double BudgetFit::most_worth(std::uint32_t k, double beyond_now) const {
  const Recompute& recompute = problem_.recomputes[k];
  const auto bytes = static_cast<double>(problem_.graph.values[recompute.value].bytes);
  return worth_of(beyond_now - beyond_with_less(bytes / scale_), recompute.seconds);
}

std::vector<BudgetFit::Move> BudgetFit::moves(const RecomputeChoice& choice,
                                              std::size_t place) const {
  std::vector<Move> moves;
  for (const auto& [recompute, recomputed, read_now] : walk_.alive(place)) {
    if (choice[recompute] != Recompute::kNever) moves.push_back({recompute, Recompute::kNever});
    if (read_now) continue;
    if (choice[recompute] == Recompute::kNever) {
      moves.push_back({recompute, Recompute::kOnce});
      moves.push_back({recompute, Recompute::kOnce, true});
    }
    for (const auto& [times, allowed] : {std::pair(Recompute::kEach, problem_.recomputes_each),
                                         std::pair(Recompute::kLater, problem_.recomputes_later)}) {
      if (choice[recompute] != times && allowed) moves.push_back({recompute, times});
    }
  }
  return moves;
}

void BudgetFit::add_with_inputs(RecomputeChoice& choice, std::uint32_t recompute) const {
  std::vector<std::uint32_t> stack = {recompute};
  while (!stack.empty()) {
    const std::uint32_t k = stack.back();
    stack.pop_back();
    if (choice[k] != Recompute::kNever) continue;
    choice[k] = Recompute::kOnce;
    for (const ValueId input : problem_.recomputes[k].inputs) {
      const std::uint32_t next = sequence_.recompute_of(input);
      const bool kept_anyway = read_in_backward_[problem_.graph.values[input].storage];
      if (next != RecomputeSequence::kNoRecompute && !kept_anyway) stack.push_back(next);
    }
  }
}

RecomputeChoice BudgetFit::after(RecomputeChoice choice, const Move& move) const {
  if (move.with_inputs) {
    add_with_inputs(choice, move.recompute);
  } else {
    choice[move.recompute] = move.times;
  }
  return choice;
}

// Tries moves from the greatest worth that they may have, or had when last tried, and stops where
// that is no more than the best so far: most moves change little for each other.
bool BudgetFit::make_best_move(RecomputeChoice& choice, std::uint64_t bytes, Worth& worth) {
  const BudgetWalk::Result start = now_;
  const double beyond_now = beyond(bytes);
  std::vector<std::pair<double, Move>> tries;
  std::pair<std::uint32_t, double> most = {RecomputeSequence::kNoRecompute, 0};
  for (const Move& move : moves(choice, start.place)) {
    double expected = worth[move.number()];
    if (std::isnan(expected)) {
      if (most.first != move.recompute) {
        most = {move.recompute, most_worth(move.recompute, beyond_now)};
      }
      expected = move.times == Recompute::kNever ? kInfinity : most.second;
    }
    tries.push_back({expected, move});
  }
  std::ranges::stable_sort(tries, std::ranges::greater(), &std::pair<double, Move>::first);
  double best = 0;
  RecomputeChoice best_choice;
  for (const auto& [expected, move] : tries) {
    if (best > 0 && expected <= best) break;
    RecomputeChoice next = after(choice, move);
    const BudgetWalk::Result result = run(next);
    double& found = worth[move.number()];
    found = worth_of(beyond_now - beyond(bytes), result.extra_seconds - start.extra_seconds);
    if (found <= best) continue;
    best = found;
    best_choice = std::move(next);
  }
  if (best == 0) return false;
  choice = std::move(best_choice);
  return true;
}

RecomputeChoice BudgetFit::fit(RecomputeChoice start, std::uint64_t bytes, double most_seconds,
                               Measure measure, Engines engines) {
  Worth worth(8 * start.size(), std::numeric_limits<double>::quiet_NaN());
  engine_bytes_ = engines == Engines::kFitting ? bytes : kAllBytes;
  measure_ = measure;
  scale_ = static_cast<double>(bytes) + 1;
  const std::uint64_t most_ops = ops_run_ + kMostOps;
  while (run(start).peak > bytes) {
    if (now_.extra_seconds >= most_seconds || ops_run_ > most_ops) return {};
    if (!make_best_move(start, bytes, worth)) return {};
  }
  return now_.extra_seconds < most_seconds ? start : RecomputeChoice();
}

std::uint32_t BudgetFit::random_below(std::size_t count) {
  return static_cast<std::uint32_t>(random_() % count);
}

// Of two, the one with more bytes: it matters more.
std::uint32_t BudgetFit::random_recompute() {
  const std::size_t count = problem_.recomputes.size();
  const std::uint32_t one = random_below(count), other = random_below(count);
  const auto bytes = [&](std::uint32_t k) {
    return problem_.graph.values[problem_.recomputes[k].value].bytes;
  };
  return bytes(one) < bytes(other) ? other : one;
}

void BudgetFit::wander(RecomputeChoice choice, std::uint64_t bytes, std::uint32_t steps) {
  engine_bytes_ = bytes;
  const auto cost = [&](const BudgetWalk::Result& result) {
    const std::uint64_t beyond = result.peak - std::min(result.peak, bytes);
    return result.extra_seconds / seconds_ +
           kCostOfBytes * static_cast<double>(beyond) / static_cast<double>(bytes);
  };
  double now = cost(run(choice));
  for (std::uint32_t step = 0; step < steps; ++step) {
    RecomputeChoice next = choice;
    for (std::uint32_t changes = kChanges[random_below(kChanges.size())]; changes > 0; --changes) {
      const std::uint32_t times =
          random_below(2u + problem_.recomputes_each + problem_.recomputes_later);
      next[random_recompute()] = static_cast<Recompute::Times>(times);
    }
    const double then = cost(run(next));
    const double heat = kFirstHeat * std::pow(kLastHeat / kFirstHeat, 1.0 * step / steps);
    const double luck = static_cast<double>(random_()) / static_cast<double>(random_.max());
    if (std::exp((now - then) / heat) < luck) continue;
    now = then;
    choice = std::move(next);
  }
}

// Finds for each recompute that runs the most bytes before it in backward: while its value is gone.
void BudgetFit::find_gaps() {
  gaps_.assign(problem_.recomputes.size(), 0);
  std::uint64_t most = 0;
  std::size_t place = problem_.backward, before = 0;
  for (const auto& [recompute, op] : walk_.recomputes()) {
    for (const std::size_t end = op + before++; place <= end; ++place) {
      most = std::max(most, walk_.bytes()[place]);
    }
    if (gaps_[recompute] == 0) gaps_[recompute] = most;
  }
}

// A guess: keeping a value frees no more than the inputs of its recompute.
bool BudgetFit::may_be_kept(std::uint32_t recompute, std::uint64_t bytes) const {
  const std::vector<StepValue>& values = problem_.graph.values;
  for (const ValueId input : problem_.recomputes[recompute].inputs) {
    const StepValue& owner = values[values[input].storage];
    if (!owner.resident) bytes += owner.bytes;
  }
  return gaps_[recompute] + values[problem_.recomputes[recompute].value].bytes <= bytes;
}

double BudgetFit::take_back(RecomputeChoice& choice, std::uint64_t bytes) {
  engine_bytes_ = bytes;
  double seconds = run(choice).extra_seconds;
  find_gaps();
  for (const std::uint32_t k : dearest_) {
    for (const Recompute::Times less : {Recompute::kNever, Recompute::kLater, Recompute::kOnce}) {
      const Recompute::Times before = choice[k];
      if (before == Recompute::kNever || before == less) continue;
      if (less == Recompute::kLater && !problem_.recomputes_later) continue;
      if (less == Recompute::kNever && !may_be_kept(k, bytes)) continue;
      choice[k] = less;
      const BudgetWalk::Result result = run(choice);
      if (result.peak > bytes || result.extra_seconds >= seconds) {
        choice[k] = before;
        continue;
      }
      seconds = result.extra_seconds;
      find_gaps();
    }
  }
  return seconds;
}

}  // namespace skyline
