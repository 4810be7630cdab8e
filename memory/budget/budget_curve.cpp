#include "memory/budget/budget_curve.h"

#include <algorithm>
#include <numeric>

#include "memory/budget/budget_walk.h"

namespace skyline {
namespace {

// The cheapest moves nearly always work.
constexpr std::size_t kMostTries = 16;
constexpr std::size_t kPriceStarts = 12, kStrideStarts = 12;
// Ops that walks may run, in the search and once more in polishing.
constexpr std::uint64_t kMostWork = 12'000'000;
// Polishing leaves out points whose peak is less than this share below that of the one before.
constexpr std::uint64_t kShareBetweenPoints = 200;

class CurveSearch {
 public:
  explicit CurveSearch(const BudgetProblem& problem)
      : problem_(problem), walk_(problem), sequence_(problem), work_left_(kMostWork) {
    kept_for_backward_.resize(problem.graph.values.size());
    for (OpId op = problem.backward; op < problem.graph.ops.size(); ++op) {
      for (const ValueId input : problem.graph.ops[op].inputs) {
        kept_for_backward_[problem.graph.values[input].storage] = true;
      }
    }
  }

  std::vector<BudgetPoint> run() {
    descend(RemakeChoice(problem_.remakes.size()));
    for (const RemakeChoice& start : starts()) descend(start);
    points_ = front();
    thin_out();
    work_left_ = kMostWork;
    for (BudgetPoint& point : points_) polish(point);
    return front();
  }

 private:
  BudgetWalk::Result walk(const RemakeChoice& choice) {
    work_left_ -= std::min<std::uint64_t>(work_left_, problem_.graph.ops.size());
    return walk_.run(choice);
  }

  void visit(RemakeChoice choice, const BudgetWalk::Result& result) {
    now_ = result;
    points_.push_back({std::move(choice), now_.peak, now_.extra_seconds});
  }

  void descend(const RemakeChoice& start) {
    if (work_left_ == 0) return;
    visit(start, walk(start));
    while (work_left_ > 0 && (make_again() || keep_again())) {
    }
  }

  std::vector<RemakeChoice> starts() const {
    std::vector<RemakeChoice> starts;
    std::vector<double> prices;
    for (const Remake& remake : problem_.remakes) {
      prices.push_back(remake.seconds / static_cast<double>(bytes_of(remake)));
    }
    std::vector<double> sorted = prices;
    std::ranges::sort(sorted);
    for (std::size_t part = 1; part <= kPriceStarts && !sorted.empty(); ++part) {
      const double most = sorted[part * (sorted.size() - 1) / kPriceStarts];
      RemakeChoice& start = starts.emplace_back();
      for (const double price : prices) start.push_back(price <= most);
    }
    for (std::size_t stride = 2; stride <= kStrideStarts; ++stride) {
      RemakeChoice& start = starts.emplace_back();
      for (std::size_t k = 0; k < prices.size(); ++k) start.push_back(k % stride != 0);
    }
    return starts;
  }

  const RemakeChoice& choice() const { return points_.back().choice; }

  // Moves to `next` if its peak is lower or, with the same peak, later: the op at the peak then
  // needs less.
  bool move_to(const RemakeChoice& next, bool must_be_lower) {
    if (work_left_ == 0) return false;
    const BudgetWalk::Result result = walk(next);
    const bool later = result.peak == now_.peak && result.place > now_.place;
    if (result.peak > now_.peak || (result.peak == now_.peak && (must_be_lower || !later))) {
      return false;
    }
    visit(next, result);
    return true;
  }

  // Adds a remake, and those of its inputs that nothing else keeps for backward. Returns their
  // seconds.
  double add(RemakeChoice& choice, std::uint32_t first) const {
    double seconds = 0;
    std::vector<std::uint32_t> stack = {first};
    while (!stack.empty()) {
      const std::uint32_t k = stack.back();
      stack.pop_back();
      if (choice[k]) continue;
      choice[k] = true;
      seconds += problem_.remakes[k].seconds;
      for (const ValueId input : problem_.remakes[k].inputs) {
        const std::uint32_t remake = sequence_.remake_of(input);
        const bool kept = kept_for_backward_[problem_.graph.values[input].storage];
        if (!kept && remake != RemadeSequence::kNoRemake) stack.push_back(remake);
      }
    }
    return seconds;
  }

  std::uint64_t bytes_of(const Remake& remake) const {
    return std::max<std::uint64_t>(problem_.graph.values[remake.value].bytes, 1);
  }

  bool make_again() {
    struct Move {
      double price = 0;  // seconds a byte
      RemakeChoice choice;
    };
    std::vector<Move> moves;
    for (const std::uint32_t k : walk_.alive(choice(), now_.place).kept) {
      RemakeChoice next = choice();
      const double seconds = add(next, k);
      const auto bytes = static_cast<double>(bytes_of(problem_.remakes[k]));
      moves.push_back({seconds / bytes, std::move(next)});
    }
    std::ranges::stable_sort(moves, {}, &Move::price);
    if (moves.size() > kMostTries) moves.resize(kMostTries);
    return std::ranges::any_of(moves,
                               [&](const Move& move) { return move_to(move.choice, false); });
  }

  bool keep_again() {
    for (const std::uint32_t k : walk_.alive(choice(), now_.place).remade) {
      RemakeChoice next = choice();
      next[k] = false;
      if (move_to(next, true)) return true;
    }
    return false;
  }

  void thin_out() {
    std::vector<BudgetPoint> some;
    for (BudgetPoint& point : points_) {
      const bool last = &point == &points_.back();
      if (some.empty() || last ||
          point.peak <= some.back().peak - some.back().peak / kShareBetweenPoints) {
        some.push_back(std::move(point));
      }
    }
    points_ = std::move(some);
  }

  void polish(BudgetPoint& point) {
    std::vector<std::uint32_t> dearest(problem_.remakes.size());
    std::iota(dearest.begin(), dearest.end(), 0u);
    std::ranges::stable_sort(dearest, std::ranges::greater(),
                             [&](std::uint32_t k) { return problem_.remakes[k].seconds; });
    for (const std::uint32_t k : dearest) {
      if (!point.choice[k] || work_left_ == 0) continue;
      point.choice[k] = false;
      if (walk(point.choice).peak > point.peak) point.choice[k] = true;
    }
    const BudgetWalk::Result result = walk_.run(point.choice);
    point.peak = result.peak;
    point.extra_seconds = result.extra_seconds;
  }

  // Returns the points that no other one beats.
  std::vector<BudgetPoint> front() {
    std::ranges::stable_sort(points_, [](const BudgetPoint& a, const BudgetPoint& b) {
      return a.extra_seconds != b.extra_seconds ? a.extra_seconds < b.extra_seconds
                                                : a.peak < b.peak;
    });
    std::vector<BudgetPoint> front;
    for (BudgetPoint& point : points_) {
      if (front.empty() || point.peak < front.back().peak) front.push_back(std::move(point));
    }
    return front;
  }

  const BudgetProblem& problem_;
  BudgetWalk walk_;
  RemadeSequence sequence_;
  std::uint64_t work_left_;
  std::vector<char> kept_for_backward_;  // by value that owns bytes
  std::vector<BudgetPoint> points_;
  BudgetWalk::Result now_;  // of the last point
};

}  // namespace

std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem) {
  return CurveSearch(problem).run();
}

const BudgetPoint* point_within(const std::vector<BudgetPoint>& curve, std::uint64_t bytes) {
  for (const BudgetPoint& point : curve) {
    if (point.peak <= bytes) return &point;
  }
  return nullptr;
}

}  // namespace skyline
