#include "memory/budget/budget_checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace skyline {
namespace {

constexpr double kRounding = 1e-9;  // share of the seconds
// A step that runs more ops than this many times those of the problem is refused.
constexpr std::size_t kMostTimes = 8;

// Runs ops one after the other. An op that lacks an input waits until its recompute has run.
class Replay {
 public:
  Replay(const BudgetProblem& problem, const RecomputeChoice& choice, const SmallerEngines& smaller)
      : problem_(problem),
        choice_(choice),
        ops_(problem.graph.ops),
        slower_(problem.graph.ops.size()),
        kept_(problem.graph.values.size()),
        recompute_of_(problem.graph.values.size()),
        at_hand_(problem.graph.values.size()) {
    for (const StepValue& value : problem.graph.values) {
      if (value.kept) kept_[value.storage] = true;
    }
    for (std::size_t k = 0; k < problem.recomputes.size(); ++k) {
      recomputes_.push_back(problem.recomputes[k].op(problem.graph));
    }
    for (std::size_t k = 0; k < problem.recomputes.size(); ++k) {
      recompute_of_[problem.recomputes[k].value] = k;
      recompute_seconds_.push_back(problem.recomputes[k].seconds);
    }
    for (std::size_t k = 0; k < smaller.size(); ++k) {
      if (smaller[k]) make_smaller(problem.engines[k]);
    }
  }

  // Returns the first fault; empty if the step runs.
  std::string run() {
    for (OpId op = 0; op < ops_.size(); ++op) {
      if (op == problem_.backward) forget_chosen();
      kept_for_it_.clear();
      extra_seconds_ += slower_[op];
      waiting_.push_back({&ops_[op], {}, {}});
      while (!waiting_.empty()) {
        if (std::string fault = step(); !fault.empty()) return fault;
        const std::size_t most = kMostTimes * (ops_.size() + recomputes_.size());
        if (events_.size() > most) return fmt::format("the step runs more than {} ops", most);
      }
      for (const ValueId value : kept_for_it_) at_hand_[value].reset();
    }
    return {};
  }

  double extra_seconds() const { return extra_seconds_; }

  // The op at which it stands, and its name.
  struct Peak {
    std::uint64_t bytes = 0;
    std::string at;
  };

  Peak peak() {
    for (std::size_t time = 0; time < events_.size(); ++time) write_over(time);
    // Bytes that come and go at each op.
    std::vector<std::uint64_t> comes(events_.size() + 1), goes(events_.size() + 1);
    for (const Copy& copy : copies_) {
      const std::size_t end = copy.kept ? events_.size() : copy.last + 1;
      if (copy.first >= end) continue;
      comes[copy.first] += copy.bytes;
      goes[end] += copy.bytes;
    }
    Peak peak;
    std::uint64_t live = 0;
    for (std::size_t time = 0; time < events_.size(); ++time) {
      live += comes[time] - goes[time];
      const std::uint64_t bytes = live + events_[time].op->workspace_bytes;
      if (bytes > peak.bytes)
        peak = {bytes, fmt::format("op {} ({})", time, events_[time].op->name)};
    }
    return peak;
  }

 private:
  // One writing of a value, and the times of the ops from which to which it is in memory.
  struct Copy {
    std::uint64_t bytes = 0;
    bool kept = false;
    std::size_t first = 0, last = 0;
  };
  struct Event {
    const StepOp* op = nullptr;
    std::vector<std::optional<std::size_t>> reads, writes;  // copies; none of resident values
  };
  struct Wait {
    const StepOp* op = nullptr;
    std::optional<std::size_t> recompute;  // that the op is
    std::vector<ValueId> for_it_alone;     // gone once it has run
  };

  void make_smaller(const SmallerEngine& engine) {
    for (const SmallerEngine::Use& use : engine.uses) {
      (use.op.is_recompute ? recomputes_ : ops_)[use.op.index].workspace_bytes =
          use.workspace_bytes;
      (use.op.is_recompute ? recompute_seconds_ : slower_)[use.op.index] += use.extra_seconds;
    }
  }

  ValueId owner(ValueId value) const { return problem_.graph.values[value].storage; }
  bool requested(ValueId value) const {
    return owner(value) == value && !problem_.graph.values[value].resident;
  }

  void forget_chosen() {
    forward_copies_ = copies_.size();
    for (std::size_t k = 0; k < choice_.size(); ++k) {
      if (choice_[k] == Recompute::kOnce || choice_[k] == Recompute::kEach) {
        at_hand_[problem_.recomputes[k].value].reset();
      }
    }
  }

  // Whether backward reads forward's copy now, for the only time.
  bool is_kept_for_once(ValueId value) const {
    const std::optional<std::size_t> recompute = recompute_of_[value];
    return recompute && choice_[*recompute] == Recompute::kLater && at_hand_[value] &&
           *at_hand_[value] < forward_copies_;
  }

  // Runs the op on top, or puts the recompute of its first missing input on top of it.
  std::string step() {
    for (const ValueId input : waiting_.back().op->inputs) {
      const ValueId value = owner(input);
      if (problem_.graph.values[value].resident || at_hand_[value]) continue;
      const std::optional<std::size_t> recompute = recompute_of_[value];
      if (!recompute || choice_[*recompute] == Recompute::kNever) {
        return fmt::format("{} reads value {}, which is not in memory", waiting_.back().op->name,
                           value);
      }
      waiting_.push_back({&recomputes_[*recompute], recompute, {}});
      return {};
    }
    execute();
    return {};
  }

  void execute() {
    const Wait now = std::move(waiting_.back());
    waiting_.pop_back();
    Event event{.op = now.op, .reads = {}, .writes = {}};
    for (const ValueId input : now.op->inputs) {
      event.reads.push_back(at_hand_[owner(input)]);
      if (event.reads.back()) copies_[*event.reads.back()].last = events_.size();
      if (is_kept_for_once(owner(input))) kept_for_it_.push_back(owner(input));
    }
    for (const ValueId output : now.op->outputs) event.writes.push_back(write(output));
    events_.push_back(std::move(event));
    for (const ValueId value : now.for_it_alone) at_hand_[value].reset();
    if (!now.recompute) return;
    extra_seconds_ += recompute_seconds_[*now.recompute];
    if (choice_[*now.recompute] == Recompute::kOnce) return;
    waiting_.back().for_it_alone.push_back(problem_.recomputes[*now.recompute].value);
  }

  std::optional<std::size_t> write(ValueId value) {
    if (!requested(value)) return {};
    const std::uint64_t bytes = problem_.graph.values[value].bytes;
    copies_.push_back({bytes, kept_[value] != 0, events_.size(), events_.size()});
    at_hand_[value] = copies_.size() - 1;
    return at_hand_[value];
  }

  // An output needs no bytes while its op runs if it overwrites an input read for the last time.
  void write_over(std::size_t time) {
    const Event& event = events_[time];
    std::vector<std::size_t> used;
    for (const InPlacePair& pair : event.op->in_place) {
      const auto read = event.reads[static_cast<std::size_t>(pair.input)];
      const auto written = event.writes[static_cast<std::size_t>(pair.output)];
      if (!read || !written || copies_[*read].bytes != copies_[*written].bytes) continue;
      if (copies_[*read].kept || copies_[*read].last != time) continue;
      const auto in_use = [&](std::size_t copy) { return copy == *read || copy == *written; };
      if (std::ranges::any_of(used, in_use) || std::ranges::count(event.reads, read) > 1) continue;
      used.insert(used.end(), {*read, *written});
      ++copies_[*written].first;
    }
  }

  const BudgetProblem& problem_;
  const RecomputeChoice& choice_;
  std::vector<StepOp> ops_, recomputes_;
  std::vector<double> slower_;                            // by op: seconds of a smaller engine
  std::vector<double> recompute_seconds_;                 // by recompute
  std::vector<char> kept_;                                // by value that owns bytes
  std::vector<std::optional<std::size_t>> recompute_of_;  // by value
  std::vector<std::optional<std::size_t>> at_hand_;       // by value: the copy that ops read
  std::vector<Wait> waiting_;                             // each for the one above it
  std::vector<Copy> copies_;
  std::vector<Event> events_;
  std::size_t forward_copies_ = 0;    // the first of copies_
  std::vector<ValueId> kept_for_it_;  // until the running op of the graph ends
  double extra_seconds_ = 0;
};

std::string fault_of_choice(const BudgetProblem& problem, const RecomputeChoice& choice,
                            const SmallerEngines& smaller) {
  if (!smaller.empty() && smaller.size() != problem.engines.size()) {
    return fmt::format("the choice has {} smaller engines, but the problem has {}", smaller.size(),
                       problem.engines.size());
  }
  if (choice.size() != problem.recomputes.size()) {
    return fmt::format("the choice has {} recomputes, but the problem has {}", choice.size(),
                       problem.recomputes.size());
  }
  for (std::size_t k = 0; k < choice.size(); ++k) {
    if (choice[k] < Recompute::kNever || choice[k] > Recompute::kLater) {
      return fmt::format("the choice of recompute {} is {}", k, static_cast<int>(choice[k]));
    }
    if ((choice[k] == Recompute::kEach && !problem.recomputes_each) ||
        (choice[k] == Recompute::kLater && !problem.recomputes_later)) {
      return fmt::format("recompute {} runs for each reader, which the step cannot", k);
    }
  }
  return {};
}

// The workspace of an op in rounds, from its slices alone: two that live at the same time must not
// meet, and together they end where the workspace does.
std::string fault_of_rounds(const StepOp& op) {
  const OpRounds& rounds = *op.rounds;
  std::vector<std::pair<std::size_t, std::size_t>> lives(rounds.slices.size(),
                                                         {~std::size_t{0}, 0});
  for (std::size_t call = 0; call < rounds.calls.size(); ++call) {
    for (const std::size_t slice : rounds.calls[call].slices) {
      if (slice >= lives.size()) return fmt::format("{} has no slice {}", op.name, slice);
      lives[slice] = {std::min(lives[slice].first, call), call};
    }
  }
  std::uint64_t needed = 0;
  for (std::size_t one = 0; one < lives.size(); ++one) {
    const auto& [offset, bytes] = rounds.slices[one];
    needed = std::max(needed, offset + bytes);
    for (std::size_t other = 0; other < one; ++other) {
      const bool at_once =
          lives[one].first <= lives[other].second && lives[other].first <= lives[one].second;
      const OpRounds::Slice& beside = rounds.slices[other];
      if (at_once && offset < beside.offset + beside.bytes && beside.offset < offset + bytes) {
        return fmt::format("slices {} and {} of {} meet", other, one, op.name);
      }
    }
  }
  if (op.workspace_bytes == needed) return {};
  return fmt::format("{} claims a workspace of {} bytes, but its slices need {}", op.name,
                     op.workspace_bytes, needed);
}

std::string fault_of_claims(const BudgetPoint& point, const Replay::Peak& peak, double seconds) {
  if (point.peak != peak.bytes) {
    return fmt::format("the choice claims a peak of {} bytes, but {} needs {}", point.peak, peak.at,
                       peak.bytes);
  }
  if (!(std::abs(point.extra_seconds - seconds) <= kRounding * std::max(seconds, 1.0))) {
    return fmt::format("the choice claims {} extra seconds, but they take {}", point.extra_seconds,
                       seconds);
  }
  return {};
}

}  // namespace

BudgetVerdict check_budget(const BudgetProblem& problem, const BudgetPoint& point) {
  BudgetVerdict verdict{.reason = fault_of_choice(problem, point.choice, point.smaller)};
  for (const StepOp& op : problem.graph.ops) {
    if (verdict.reason.empty() && op.rounds) verdict.reason = fault_of_rounds(op);
  }
  if (!verdict.reason.empty()) return verdict;
  Replay replay(problem, point.choice, point.smaller);
  verdict.reason = replay.run();
  if (!verdict.reason.empty()) return verdict;
  const Replay::Peak peak = replay.peak();
  verdict.peak = peak.bytes;
  verdict.extra_seconds = replay.extra_seconds();
  verdict.reason = fault_of_claims(point, peak, verdict.extra_seconds);
  verdict.valid = verdict.reason.empty();
  return verdict;
}

}  // namespace skyline
