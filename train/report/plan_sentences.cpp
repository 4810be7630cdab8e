#include "train/report/plan_sentences.h"

#include <fmt/format.h>

#include "framework/op.h"
#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

std::string count_of(double count, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string span_of(const SkylineLine& line) {
  return fmt::format("[{}, {})", line.lower, line.upper);
}

std::string line_sentence(const ExplainedStep& step) {
  const std::string where =
      fmt::format("{} at {}", span_of(step.line), format_bytes(step.line.offset));
  if (step.equally_low == 1) return fmt::format("The lowest line is {}.", where);
  return fmt::format("The leftmost of {} equally low lines is {}.", step.equally_low, where);
}

std::string_view superlative(BestFitKey key) {
  switch (key) {
    case BestFitKey::kLifetime:
      return "lives longest";
    case BestFitKey::kSize:
      return "is largest";
    case BestFitKey::kArea:
      break;
  }
  return "has the most bytes × ticks";
}

std::string key_figure(const PlanExplanation& explanation, const Trace& trace, std::size_t block) {
  const double key = key_of(explanation, trace, block);
  switch (explanation.key) {
    case BestFitKey::kLifetime:
      return count_of(key, "tick");
    case BestFitKey::kSize:
      return format_bytes(explanation.rounded[block]);
    case BestFitKey::kArea:
      break;
  }
  return fmt::format("{:.12g}", key);
}

// "conv2d of conv1 (block 7)", or "block 7" of a trace without tags.
std::string name_of(const Trace& trace, std::size_t block) {
  const std::string number = "block " + trace.id(block);
  if (trace.tags.empty() || trace.tags[block].op.empty()) return number;
  return fmt::format("{} ({})", op_of_layer(trace.tags[block].op, trace.tags[block].layer), number);
}

std::string at_begin_of_sentence(std::string text) {
  if (text.starts_with("block ")) text.front() = 'B';
  return text;
}

// Says why the block goes before a runner-up.
std::string reason_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block,
                      std::size_t runner_up) {
  const std::string name = name_of(trace, runner_up);
  if (key_of(explanation, trace, block) != key_of(explanation, trace, runner_up)) {
    return fmt::format("next is {} with {}", name, key_figure(explanation, trace, runner_up));
  }
  const TraceBlock &first = trace.blocks[block], &second = trace.blocks[runner_up];
  const std::string equal = fmt::format("{} equals it", name);
  if (explanation.rounded[block] != explanation.rounded[runner_up])
    return equal + " but is smaller";
  const auto ticks = [](const TraceBlock& one) {
    return static_cast<std::uint64_t>(one.upper) - static_cast<std::uint64_t>(one.lower);
  };
  if (ticks(first) != ticks(second)) return equal + " but lives shorter";
  return equal + " but was requested later";
}

std::string placement_sentence(const PlanExplanation& explanation, const Trace& trace,
                               const ExplainedStep& step) {
  const std::string name = name_of(trace, step.block);
  const std::string place = fmt::format("goes to {} and ends at {}", format_bytes(step.line.offset),
                                        format_bytes(step.top));
  if (!step.runner_up) return fmt::format("Only {} lives within it: it {}.", name, place);
  return fmt::format("{} unplaced blocks live within it. {} {}, {} ({}): it {}.", step.candidates,
                     at_begin_of_sentence(name), superlative(explanation.key),
                     key_figure(explanation, trace, step.block),
                     reason_of(explanation, trace, step.block, *step.runner_up), place);
}

std::string lift_sentence(const ExplainedStep& step) {
  const std::string_view side = step.joins_left && step.joins_right
                                    ? "both neighbours, which are equally high"
                                : step.joins_left ? "its left neighbour"
                                                  : "its right neighbour";
  const std::uint64_t wasted = step.merged.offset - step.line.offset;
  if (wasted == 0) {
    return fmt::format("No unplaced block lives within it, so it merges with {} to {}.", side,
                       span_of(step.merged));
  }
  const double ticks = static_cast<double>(step.line.upper) - static_cast<double>(step.line.lower);
  return fmt::format(
      "No unplaced block lives within it, so it is lifted to {} at {} and merges with it to {}. {} "
      "× {} below stay unused.",
      side, format_bytes(step.merged.offset), span_of(step.merged), format_bytes(wasted),
      count_of(ticks, "tick"));
}

}  // namespace

std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedStep& step) {
  return line_sentence(step) + " " +
         (step.act == ExplainedStep::Act::kPlace ? placement_sentence(explanation, trace, step)
                                                 : lift_sentence(step));
}

}  // namespace skyline
