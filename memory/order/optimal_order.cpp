#include "memory/order/optimal_order.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "memory/order/greedy_order.h"
#include "memory/order/search/order_search.h"
#include "memory/order/search/region_bound.h"

namespace skyline {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// How much to spend on one level: sets visited by a search, then flows for a proof by a region.
// Real training steps take 1 to 40 sets and flows.
struct Stage {
  std::uint64_t states = 0;
  std::uint64_t flow_factor = 0;
};
// A flow takes as long as some seven states, and there are up to ten proofs.
constexpr std::uint64_t kStatesPerFlow = 32;
constexpr Stage kStages[] = {{512, 1}, {8192, 4}, {kUnlimited, 64}};

bool is_limited(const OrderOptions& options) {
  return options.time_limit_seconds || options.state_limit;
}

OrderEffort effort_of(const OrderOptions& options) {
  return {.states = options.state_limit.value_or(kUnlimited),
          .runs = is_limited(options) ? kUnlimited : kDefaultOrderRuns,
          .deadline = deadline_in(options.time_limit_seconds, options.stop)};
}

class Solver {
 public:
  Solver(const StepGraph& graph, const OrderOptions& options)
      : problem_(order_problem(graph, options)),
        parts_(order_parts(problem_)),
        bound_(problem_),
        search_(problem_),
        effort_(effort_of(options)),
        limited_(is_limited(options)),
        most_flows_(options.state_limit ? *options.state_limit / kStatesPerFlow : kUnlimited) {}

  void consider(const std::vector<OpId>& order) {
    const std::vector<std::uint64_t> bytes = order_bytes(problem_, order);
    if (order_.empty()) {
      order_ = order;
      bytes_ = bytes;
      return;
    }
    for (const OrderPart& part : parts_) {
      if (peak_in(bytes, part) >= peak_in(bytes_, part)) continue;
      std::copy(order.begin() + part.begin, order.begin() + part.end, order_.begin() + part.begin);
      std::copy(bytes.begin() + part.begin, bytes.begin() + part.end, bytes_.begin() + part.begin);
    }
  }

  void consider_rules() {
    consider(program_sequence(problem_));
    if (peak() > 0) consider(greedy_order(problem_, TieRule::kProgramFirst));
    if (peak() > 0) consider(greedy_order(problem_, TieRule::kProgramLast));
  }

  bool keeps_values() const {
    return std::ranges::any_of(problem_.values, &OrderProblem::Value::kept);
  }

  void consider_late() {
    const std::uint64_t before = peak();
    consider(delayed(problem_, program_sequence(problem_)));
    consider(greedy_order_from_end(problem_));
    if (peak() != before) bound_peak();
  }

  // Delays ops under lower and lower levels. Those of many independent gradients that need the most
  // while they run then come before all that are kept exist.
  void delay_below_peak() {
    constexpr int kHalvings = 8;
    const std::uint64_t before = peak();
    std::uint64_t low = lower_bound_, high = peak();
    for (int i = 0; i < kHalvings && low < high; ++i) {
      const std::uint64_t level = low + (high - low) / 2;
      consider(delayed(problem_, program_sequence(problem_), level));
      (peak() <= level ? high : low) = peak() <= level ? peak() : level + 1;
    }
    if (peak() != before) bound_peak();
  }

  // Delays what raises the live bytes and advances what lowers them, in several orders.
  void refine_rules() {
    const std::uint64_t before = peak();
    const std::vector<OpId> program = program_sequence(problem_);
    const std::vector<OpId> greedy = greedy_order(problem_, TieRule::kProgramFirst);
    for (std::vector<OpId> order : {program, greedy, greedy_order_from_end(problem_)}) {
      for (const auto refined : {delayed, advanced, delayed}) {
        order = refined(problem_, order);
        consider(order);
      }
    }
    if (peak() < before) bound_peak();
  }

  // Bounds the op where the order peaks, by one flow, and the end of the step.
  void bound_peak() {
    if (proved()) return;
    const auto at = std::ranges::max_element(bytes_) - bytes_.begin();
    adopt(bound_.bound_of_peak(order_[static_cast<std::size_t>(at)]));
  }

  // Lowers the peak or raises the bound until they meet or the effort is spent. Longer stages begin
  // only where shorter ones no longer decide anything.
  void search(std::span<const Stage> stages) {
    bool narrowed = true;
    while (narrowed && !proved() && !out_of_effort()) {
      if (is_near()) {
        effort_.runs = std::min(effort_.runs, kDefaultOrderRuns / 3);
        most_flows_ = std::min(most_flows_, (std::uint64_t{1} << 20) / problem_.ops.size());
      }
      narrowed = std::ranges::any_of(stages, [this](const Stage& stage) { return narrow(stage); });
    }
  }

  // Whether the gap is less than a thousandth. Without limits it is then worth some tenths of a
  // second.
  bool is_near() const { return !limited_ && peak() - lower_bound_ < lower_bound_ / 1000; }

  // Proves as much of the bound as a region can.
  void certify() {
    if (certificate_.bytes >= lower_bound_) return;
    if (auto found = prove_above(lower_bound_ - 1, flows_of(kStages[0])))
      certificate_ = std::move(*found);
  }

  void raise_bound_by_regions() {
    constexpr int kMostLevels = 8;
    std::uint64_t open = peak();
    for (int i = 0; i < kMostLevels && open > lower_bound_ && !passed(effort_.deadline); ++i) {
      const std::uint64_t level = lower_bound_ + (open - 1 - lower_bound_) / 2;
      if (!refuted_by_region(level, flows_of(kStages[2]))) open = level;
    }
  }

  bool proved() const { return peak() <= lower_bound_; }

  OrderAnswer answer(std::string algorithm) {
    OrderAnswer answer;
    answer.peak = peak();
    answer.lower_bound = lower_bound_;
    answer.proved_optimal = proved();
    answer.order = std::move(order_);
    answer.certificate = std::move(certificate_);
    answer.states = search_.states();
    answer.flows = bound_.flows();
    answer.algorithm = std::move(algorithm);
    return answer;
  }

 private:
  static std::uint64_t peak_in(const std::vector<std::uint64_t>& bytes, const OrderPart& part) {
    return *std::max_element(bytes.begin() + part.begin, bytes.begin() + part.end);
  }
  std::uint64_t peak() const { return bytes_.empty() ? 0 : *std::ranges::max_element(bytes_); }
  bool out_of_effort() const {
    return effort_.states == 0 || effort_.runs == 0 || passed(effort_.deadline);
  }

  void adopt(BoundCertificate found) {
    lower_bound_ = std::max(lower_bound_, found.bytes);
    if (found.bytes > certificate_.bytes) certificate_ = std::move(found);
  }

  using Outcome = OrderSearch::Outcome;

  // Decides just below the peak or halfway to the bound: first below the peak, where a proof is
  // most likely, and after an improvement halfway. Returns false if neither could be decided.
  bool narrow(const Stage& stage) {
    const std::uint64_t highest = peak() - 1;
    const std::uint64_t middle = lower_bound_ + (highest - lower_bound_) / 2;
    const bool halve = improved_;
    for (const std::uint64_t level : {halve ? middle : highest, halve ? highest : middle}) {
      const Outcome outcome = reach(level, stage);
      if (outcome == Outcome::kGaveUp) continue;
      improved_ = outcome == Outcome::kFound;
      if (improved_) bound_peak();
      if (!improved_) lower_bound_ = std::max(lower_bound_, level + 1);
      return true;
    }
    return false;
  }

  // Looks for stretches within the level wherever the order exceeds it.
  Outcome reach(std::uint64_t level, const Stage& stage) {
    Outcome outcome = Outcome::kFound;
    for (const OrderPart& part : parts_) {
      if (peak_in(bytes_, part) <= level) continue;
      outcome = decide(part, level, stage);
      if (outcome != Outcome::kFound) break;
      std::ranges::copy(search_.found(), order_.begin() + part.begin);
    }
    bytes_ = order_bytes(problem_, order_);
    return outcome;
  }

  // Spends at most half of what is left of the effort, so that another level gets its share.
  Outcome decide(const OrderPart& part, std::uint64_t level, const Stage& stage) {
    if (out_of_effort()) return Outcome::kGaveUp;
    OrderEffort share = effort_;
    share.states = std::min(share.states - share.states / 2, stage.states);
    share.runs -= share.runs / 2;
    if (share.deadline.time) {
      const SearchClock::time_point now = SearchClock::now();
      share.deadline.time = now + (*share.deadline.time - now) / 2;
    }
    const OrderEffort before = share;
    const Outcome outcome = search_.decide(part.begin, part.end, level, share);
    effort_.states -= before.states - share.states;
    effort_.runs -= before.runs - share.runs;
    if (outcome != Outcome::kGaveUp || !refuted_by_region(level, flows_of(stage))) return outcome;
    return Outcome::kImpossible;
  }

  bool refuted_by_region(std::uint64_t level, std::uint64_t flow_limit) {
    auto found = prove_above(level, flow_limit);
    if (found) adopt(std::move(*found));
    return found.has_value();
  }

  // A flow takes time in proportion to the ops; the most are about a second. A limit on states also
  // limits flows.
  std::uint64_t flows_of(const Stage& stage) const {
    constexpr std::uint64_t kMostOps = std::uint64_t{1} << 22;
    const std::uint64_t ops = problem_.ops.size();
    const std::uint64_t fewest = 64 + ops / 16;
    const std::uint64_t most = std::max(fewest, kMostOps / ops);
    return std::min(std::clamp(stage.flow_factor * fewest, fewest, most), most_flows_);
  }

  // By a region that grows from the start, or from the end.
  std::optional<BoundCertificate> prove_above(std::uint64_t level, std::uint64_t flow_limit) {
    const auto is_above = [&](std::uint64_t bytes) { return bytes > level; };
    const auto first = std::ranges::find_if(bytes_, is_above) - bytes_.begin();
    const auto after = std::find_if(bytes_.rbegin(), bytes_.rend(), is_above) - bytes_.rbegin();
    const std::span order(order_);
    using Side = RegionBound::Side;
    auto found =
        bound_.prove_above(level, Side::kStart, order.first(static_cast<std::size_t>(first)),
                           flow_limit, effort_.deadline);
    if (found) return found;
    return bound_.prove_above(level, Side::kEnd, order.last(static_cast<std::size_t>(after)),
                              flow_limit, effort_.deadline);
  }

  const OrderProblem problem_;
  const std::vector<OrderPart> parts_;
  RegionBound bound_;
  OrderSearch search_;
  OrderEffort effort_;
  const bool limited_;
  std::uint64_t most_flows_;          // of one proof
  std::vector<OpId> order_;           // the best so far
  std::vector<std::uint64_t> bytes_;  // during each op of it
  std::uint64_t lower_bound_ = 0;
  BoundCertificate certificate_;
  bool improved_ = false;  // by the latest decision
};

}  // namespace

// Op k needs all ops before it if each of these has a successor at most k: following first
// successors from any of them then ends at k. In the same way all later ops need k if each of them
// has a predecessor of at least k.
std::vector<OrderPart> order_parts(const OrderProblem& problem) {
  const auto ops = static_cast<OpId>(problem.ops.size());
  std::vector<char> meets(ops, true);
  OpId farthest = 0;  // first successor of an earlier op
  for (OpId op = 0; op < ops; ++op) {
    const std::vector<OpId>& after = problem.ops[op].successors;
    if (farthest > op) meets[op] = false;
    farthest = std::max(farthest, after.empty() ? ops : after.front());
  }
  OpId nearest = ops;  // one more than the least last predecessor of the later ops
  for (OpId op = ops; op-- > 0;) {
    const std::vector<OpId>& before = problem.ops[op].predecessors;
    if (nearest <= op) meets[op] = false;
    nearest = std::min(nearest, before.empty() ? 0 : before.back() + 1);
  }
  std::vector<OrderPart> parts;
  for (OpId op = 0; op < ops; ++op) {
    if (parts.empty() || meets[op] || meets[op - 1]) parts.push_back({op, op});
    parts.back().end = op + 1;
  }
  return parts;
}

OrderAnswer optimal_order(const StepGraph& graph, const OrderOptions& options) {
  Solver solver(graph, options);
  solver.consider_rules();
  solver.bound_peak();
  // Late orders pay where values are kept. Other steps are searched briefly before they get more
  // orders.
  if (!solver.proved() && solver.keeps_values()) {
    solver.consider_late();
    solver.delay_below_peak();
  }
  solver.search(std::span(kStages).first(1));
  if (!solver.proved()) solver.refine_rules();
  solver.search(kStages);
  if (!solver.proved()) {
    if (!solver.is_near()) solver.raise_bound_by_regions();
    for (const OrderEntry& other : order_algorithms()) {
      if (other.function != optimal_order) solver.consider(other.function(graph, options).order);
    }
  }
  solver.certify();
  return solver.answer("optimal");
}

OrderAnswer greedy_answer(const StepGraph& graph, const OrderOptions& options) {
  Solver solver(graph, options);
  solver.consider_rules();
  solver.bound_peak();
  return solver.answer("greedy");
}

OrderAnswer late_answer(const StepGraph& graph, const OrderOptions& options) {
  Solver solver(graph, options);
  solver.consider_late();
  return solver.answer("late");
}

}  // namespace skyline
