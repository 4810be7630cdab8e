#include "train/report/plan_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace skyline {
namespace {

std::uint64_t ticks_of(const TraceBlock& block) {
  return static_cast<std::uint64_t>(block.upper) - static_cast<std::uint64_t>(block.lower);
}

// Sorts all blocks by descending key. Ties: the larger first, then the longer-lived, then the
// earlier.
std::vector<std::size_t> in_order_of_key(const Trace& trace, const PlanExplanation& explanation) {
  std::vector<std::size_t> order(trace.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](std::size_t i) {
    const std::uint64_t ticks = ticks_of(trace.blocks[i]), bytes = explanation.rounded[i];
    switch (explanation.key) {
      case BestFitKey::kLifetime:
        return std::tuple(static_cast<double>(0), ticks, bytes, ticks);
      case BestFitKey::kSize:
        return std::tuple(static_cast<double>(0), bytes, ticks, bytes);
      case BestFitKey::kArea:
        break;
    }
    return std::tuple(static_cast<double>(bytes) * static_cast<double>(ticks), bytes, ticks, bytes);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  return order;
}

// The skyline over time: a row of adjacent lines.
class Outline {
 public:
  Outline(Tick first, Tick last) { add({first, last, 0}); }

  SkylineLine lowest() const { return at(by_height_.begin()->second); }
  std::size_t equally_low() const {
    const std::uint64_t height = by_height_.begin()->first;
    return static_cast<std::size_t>(std::distance(
        by_height_.begin(), by_height_.lower_bound(std::pair(height + 1, first_tick()))));
  }

  // Places a block on a line, which splits it into up to three.
  void place(const SkylineLine& line, const TraceBlock& block, std::uint64_t top) {
    remove(line);
    if (line.lower < block.lower) add({line.lower, block.lower, line.offset});
    add({block.lower, block.upper, top});
    if (block.upper < line.upper) add({block.upper, line.upper, line.offset});
  }

  // Merges a line with its lowest neighbour, or with both, and records that in the step.
  void lift(const SkylineLine& line, ExplainedStep& step) {
    const auto here = lines_.find(line.lower);
    std::optional<SkylineLine> left, right;
    if (here != lines_.begin()) left = std::prev(here)->second;
    if (std::next(here) != lines_.end()) right = std::next(here)->second;
    if (!left && !right) throw std::logic_error("the explanation lifts the only line");
    step.joins_left = left && (!right || left->offset <= right->offset);
    step.joins_right = right && (!left || right->offset <= left->offset);
    step.merged = {step.joins_left ? left->lower : line.lower,
                   step.joins_right ? right->upper : line.upper,
                   step.joins_left ? left->offset : right->offset};
    remove(line);
    if (step.joins_left) remove(*left);
    if (step.joins_right) remove(*right);
    add(step.merged);
  }

 private:
  Tick first_tick() const { return lines_.begin()->first; }
  const SkylineLine& at(Tick lower) const { return lines_.at(lower); }
  void add(const SkylineLine& line) {
    lines_.emplace(line.lower, line);
    by_height_.emplace(line.offset, line.lower);
  }
  void remove(const SkylineLine& line) {
    lines_.erase(line.lower);
    by_height_.erase({line.offset, line.lower});
  }

  std::map<Tick, SkylineLine> lines_;                   // by their first tick
  std::set<std::pair<std::uint64_t, Tick>> by_height_;  // offset, first tick
};

// Finds the candidates of a line and removes the best one from the list.
void choose(std::vector<std::size_t>& unplaced, const Trace& trace, ExplainedStep& step) {
  std::optional<std::size_t> best;  // position in `unplaced`, which is sorted by key
  for (std::size_t i = 0; i < unplaced.size(); ++i) {
    const TraceBlock& block = trace.blocks[unplaced[i]];
    if (block.lower < step.line.lower || block.upper > step.line.upper) continue;
    if (++step.candidates == 1) best = i;
    if (step.candidates == 2) step.runner_up = unplaced[i];
  }
  step.act = best ? ExplainedStep::Act::kPlace : ExplainedStep::Act::kLift;
  if (!best) return;
  step.block = unplaced[*best];
  unplaced.erase(unplaced.begin() + static_cast<std::ptrdiff_t>(*best));
}

// Returns the events that the planner should have logged for a step.
std::pair<BestFitEvent, BestFitEvent> events_of(const ExplainedStep& step, const Trace& trace) {
  const SkylineLine& line = step.line;
  const BestFitEvent choice{.lower = line.lower, .upper = line.upper, .offset = line.offset};
  if (step.act == ExplainedStep::Act::kLift) {
    return {choice,
            {.kind = BestFitEvent::Kind::kLift,
             .lower = step.merged.lower,
             .upper = step.merged.upper,
             .offset = line.offset,
             .raised_offset = step.merged.offset}};
  }
  const TraceBlock& block = trace.blocks[step.block];
  return {choice,
          {.kind = BestFitEvent::Kind::kPlacement,
           .lower = block.lower,
           .upper = block.upper,
           .offset = line.offset,
           .raised_offset = step.top,
           .block = step.block}};
}

void require_in_log(const ExplainedStep& step, std::size_t number, const Trace& trace,
                    const BestFitLog& log) {
  const auto [choice, act] = events_of(step, trace);
  if (2 * number + 1 < log.size() && log[2 * number] == choice && log[2 * number + 1] == act) {
    return;
  }
  throw std::logic_error(
      fmt::format("step {} of the planner's log breaks the rules, which demand {}", number + 1,
                  step.act == ExplainedStep::Act::kLift
                      ? "a lift"
                      : fmt::format("block {} at {}", trace.id(step.block), step.line.offset)));
}

std::pair<Tick, Tick> ticks_of(const Trace& trace) {
  std::pair<Tick, Tick> ticks(trace.blocks[0].lower, trace.blocks[0].upper);
  for (const TraceBlock& block : trace.blocks) {
    ticks = {std::min(ticks.first, block.lower), std::max(ticks.second, block.upper)};
  }
  return ticks;
}

}  // namespace

std::optional<BestFitKey> best_fit_key(std::string_view planner) {
  if (planner == "best-fit") return BestFitKey::kLifetime;
  if (planner == "best-fit-by-size") return BestFitKey::kSize;
  if (planner == "best-fit-by-area") return BestFitKey::kArea;
  return std::nullopt;
}

double key_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block) {
  const auto bytes = static_cast<double>(explanation.rounded[block]);
  const auto ticks = static_cast<double>(ticks_of(trace.blocks[block]));
  switch (explanation.key) {
    case BestFitKey::kLifetime:
      return ticks;
    case BestFitKey::kSize:
      return bytes;
    case BestFitKey::kArea:
      break;
  }
  return bytes * ticks;
}

PlanExplanation explain_plan(const Trace& trace, std::uint64_t alignment, BestFitKey key,
                             const BestFitLog& log) {
  PlanExplanation explanation{.key = key};
  for (const TraceBlock& block : trace.blocks) {
    explanation.rounded.push_back(align_checked(block.bytes, alignment));
  }
  if (trace.size() == 0) return explanation;
  const auto [first, last] = ticks_of(trace);
  Outline outline(first, last);
  std::vector<std::size_t> unplaced = in_order_of_key(trace, explanation);
  while (!unplaced.empty()) {
    ExplainedStep step{.line = outline.lowest(), .equally_low = outline.equally_low()};
    choose(unplaced, trace, step);
    if (step.act == ExplainedStep::Act::kPlace) {
      step.top = step.line.offset + explanation.rounded[step.block];
      outline.place(step.line, trace.blocks[step.block], step.top);
    } else {
      outline.lift(step.line, step);
    }
    require_in_log(step, explanation.steps.size(), trace, log);
    explanation.steps.push_back(step);
  }
  if (log.size() != 2 * explanation.steps.size()) {
    throw std::logic_error("the planner's log continues after the last placement");
  }
  return explanation;
}

}  // namespace skyline
