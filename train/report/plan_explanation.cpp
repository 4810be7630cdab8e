#include "train/report/plan_explanation.h"

namespace skyline {
namespace {

std::uint64_t ticks_of(const TraceBlock& block) {
  return static_cast<std::uint64_t>(block.upper) - static_cast<std::uint64_t>(block.lower);
}

void read_choice(const BestFitEvent& choice, ExplainedStep& step) {
  step.line = {choice.lower, choice.upper, choice.offset};
  step.equally_low = choice.equally_low;
  step.candidates = choice.candidates;
  step.runner_up = choice.runner_up;
}

void read_act(const BestFitEvent& act, ExplainedStep& step) {
  if (act.kind == BestFitEvent::Kind::kPlacement) {
    step.block = act.block;
    step.top = act.raised_offset;
    return;
  }
  step.act = ExplainedStep::Act::kLift;
  step.merged = {act.lower, act.upper, act.raised_offset};
  step.joins_left = act.lower < step.line.lower;
  step.joins_right = act.upper > step.line.upper;
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
  for (std::size_t i = 0; i < trace.size(); ++i) {
    explanation.rounded.push_back(planned_bytes(trace, i, alignment));
  }
  for (std::size_t i = 0; i + 1 < log.size(); i += 2) {
    ExplainedStep& step = explanation.steps.emplace_back();
    read_choice(log[i], step);
    read_act(log[i + 1], step);
  }
  return explanation;
}

}  // namespace skyline
